package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/ingest/ingesttest"
	"github.com/quarrysearch/quarry/ingest/signature"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestAccessIsDoubted checks which deliveries cause permissions to be reread, and that a
// delivery is refused if this could not be recorded, so that its sender retries.
func TestAccessIsDoubted(t *testing.T) {
	log, doubts, failure := &memoryLog{}, []string(nil), error(nil)
	o := newOptions(log)
	o.DoubtAccess = func(_ context.Context, connection string, id code.RepositoryID, removed string, at time.Time) (bool, error) {
		doubts = append(doubts, strings.TrimSpace(fmt.Sprint(connection, " ", uint64(id), " ", at.Equal(now), " ", removed)))
		return true, failure
	}
	r := newReceiver(t, o)
	deliver := func(event, body, secret string) int {
		request := httptest.NewRequest(http.MethodPost, "/webhooks/github/hub", strings.NewReader(body))
		request.Header.Set("X-GitHub-Event", event)
		request.Header.Set("X-Hub-Signature-256", ingesttest.SignHMAC(signature.GitHubPrefix, []byte(body), []byte(secret)))
		answer := httptest.NewRecorder()
		r.ServeHTTP(answer, request)
		return answer.Code
	}
	repository := `"repository": {"id": 481516, "full_name": "meadow/teapot", "clone_url": "https://github.com/meadow/teapot.git"}`
	for _, test := range []struct {
		event, body, secret string
		status              int
		want                string
	}{
		{"member", `{"action": "removed", ` + repository + `}`, "s3cret", 200, "hub 43 true"}, // found by its clone URL
		{"member", `{"action": "removed", "member": {"id": 1042}, ` + repository + `}`, "s3cret", 200, "hub 43 true 1042"},
		{"member", `{"action": "edited", "member": {"id": 1042}, ` + repository + `}`, "s3cret", 200, "hub 43 true"},
		{"membership", `{"action": "removed"}`, "s3cret", 200, "hub 0 true"},
		{"organization", `{"action": "member_removed", "membership": {"user": {"id": 1042}}}`, "s3cret", 200, "hub 0 true 1042"},
		{"repository", `{"action": "transferred", ` + repository + `}`, "s3cret", 202, "hub 43 true"},
		{"member", `{"action": "removed", ` + repository + `}`, "forged", 401, ""},
		{"ping", `{"zen": "x"}`, "s3cret", 200, ""},
	} {
		doubts = nil
		status := deliver(test.event, test.body, test.secret)
		if got := strings.Join(doubts, ";"); got != test.want || status != test.status {
			t.Errorf("%s: %d, doubts %q, want %d and %q", test.event, status, got, test.status, test.want)
		}
	}
	failure = errors.New("the log is down")
	if status := deliver("member", `{"action": "added", `+repository+`}`, "s3cret"); status != http.StatusServiceUnavailable {
		t.Errorf("while the log is down: %d", status)
	}
}
