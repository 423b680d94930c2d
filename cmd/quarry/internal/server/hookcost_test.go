package server

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// TestHooksCostTheDifference commits two files of a repository with many, announces them
// in each form that a hook may have, and counts the changes of the revision in the log:
// its base must be the commit that the log announced before.
func TestHooksCostTheDifference(t *testing.T) {
	t.Parallel()
	const files, changed = 40, 2
	g := newGitRepository(t, "many", "release*")
	c := testConfig(t, "git.allowedRoots="+filepath.Dir(g.dir))
	c.Connections = []config.Connection{{Name: "local", Kind: code.GenericGitHost, Secrets: []config.Secret{config.NewSecret("whsec_" + base64.StdEncoding.EncodeToString([]byte(pressureSecret)))}}}
	s := runServer(t, c)
	var pairs []string
	for i := range files {
		pairs = append(pairs, fmt.Sprintf("f%d.txt", i), fmt.Sprintf("text %d\n", i))
	}
	head := g.commitFiles(pairs...)
	g.runGitCommand("branch", "release1")
	s.registerAt(t, g, head)
	waitUntil(t, func() bool { return len(s.revisionsOf(t, g.ID)) == 2 })
	lastDelivery := func(t *testing.T) string {
		var page struct {
			Deliveries []struct{ ID string }
		}
		_, body := getURL(t, s.URL()+"/api/deliveries")
		if err := json.Unmarshal([]byte(body), &page); err != nil || len(page.Deliveries) == 0 {
			t.Fatalf("GET /api/deliveries: %s, %v", body, err)
		}
		return page.Deliveries[0].ID
	}
	deliver := func(t *testing.T, payload map[string]any) {
		t.Helper()
		payload["repository"] = g.dir
		if status, _ := s.deliverHook(t, fmt.Sprint("msg_", time.Now().UnixNano()), payload); status != http.StatusAccepted {
			t.Fatalf("%v: %d, want %d", payload, status, http.StatusAccepted)
		}
	}
	post := func(t *testing.T, path string) {
		t.Helper()
		if status := postJSON(t, s.URL()+path, "{}", &struct{}{}); status != http.StatusAccepted {
			t.Fatalf("POST %s: %d, want %d", path, status, http.StatusAccepted)
		}
	}
	const ref = "refs/heads/main"
	for n, form := range []struct {
		name string
		do   func(t *testing.T, before, after code.CommitID)
	}{
		{"before and after", func(t *testing.T, before, after code.CommitID) {
			deliver(t, map[string]any{"ref": ref, "before": before, "after": after})
		}},
		{"ref", func(t *testing.T, _, _ code.CommitID) { deliver(t, map[string]any{"ref": ref}) }},
		{"redelivery", func(t *testing.T, _, _ code.CommitID) {
			post(t, "/api/deliveries/"+lastDelivery(t)+"/redeliver")
		}},
		{"refs", func(t *testing.T, _, _ code.CommitID) {
			deliver(t, map[string]any{"refs": []map[string]any{{"ref": ref}, {"ref": "refs/heads/release1"}}})
		}},
		{"ref and after", func(t *testing.T, _, after code.CommitID) { deliver(t, map[string]any{"ref": ref, "after": after}) }},
		{"wrong before", func(t *testing.T, _, after code.CommitID) {
			deliver(t, map[string]any{"ref": ref, "before": strings.Repeat("1", 40), "after": after})
		}},
		{"before of a new ref", func(t *testing.T, _, after code.CommitID) {
			deliver(t, map[string]any{"ref": ref, "before": strings.Repeat("0", 40), "after": after})
		}},
		{"repository", func(t *testing.T, _, _ code.CommitID) { deliver(t, map[string]any{}) }},
		{"refresh", func(t *testing.T, _, _ code.CommitID) {
			post(t, fmt.Sprintf("/api/repos/%d/refresh", uint64(g.ID)))
		}},
	} {
		before, known := head, len(s.revisionsOf(t, g.ID))
		for i := range changed {
			pairs[2*i+1] = fmt.Sprintf("text %d after %d\n", i, n)
		}
		head = g.commitFiles(pairs[:2*changed]...)
		form.do(t, before, head)
		eventuallyOr(t, func() bool { return s.defaultAt(g.ID) == head }, func() string { return form.name + ": the push is not searchable" })
		revisions := s.revisionsOf(t, g.ID)[known:]
		if len(revisions) != 1 {
			t.Errorf("%s: %d refs were announced, want 1", form.name, len(revisions))
		}
		for _, ev := range revisions {
			if ev.BaseCommit != before || len(ev.Changes) != changed {
				t.Errorf("%s: %s builds on %q with %d changes, want %s with %d; repeat with go test -run %s ./cmd/quarry/internal/server",
					form.name, ev.Ref, ev.BaseCommit, len(ev.Changes), before, changed, t.Name())
			}
		}
	}
}

// revisionsOf returns the revisions of a repository in the log.
func (s *Server) revisionsOf(t *testing.T, id code.RepositoryID) (revisions []*event.RevisionIndexed) {
	t.Helper()
	for rec := range s.eventRecords(t) {
		_, ev, err := event.Decode(rec)
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := ev.(*event.RevisionIndexed); ok && r.Repository == id {
			revisions = append(revisions, r)
		}
	}
	return revisions
}
