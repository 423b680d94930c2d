package webhook_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestFloodOfRefusals checks that bad signatures and deliveries to unknown connections
// log a burst of ten lines and then one per second, and suppress no other lines.
func TestFloodOfRefusals(t *testing.T) {
	for _, path := range []string{"/webhooks/github/hub", "/webhooks/github/guess"} {
		var written bytes.Buffer
		clock := now
		o := newOptions(new(memoryLog))
		o.Logger = slog.New(slog.NewJSONHandler(&written, nil))
		o.Now = func() time.Time { return clock }
		r := newReceiver(t, o)
		attempt := func() {
			request := httptest.NewRequest(http.MethodPost, path, strings.NewReader(push))
			request.Header.Set("X-GitHub-Delivery", "guess\n"+strings.Repeat("x", 10_000))
			request.RemoteAddr = "203.0.113.7:4242"
			r.ServeHTTP(httptest.NewRecorder(), request)
		}
		const flood = 10_000
		for range flood {
			attempt()
		}
		postDelivery(r, "a", push) // from a sender that knows the secret
		lines := logLines(t, &written)
		refused, accepted := lines["delivery not accepted"], lines["delivery accepted"]
		if len(refused) != 10 || len(accepted) != 1 {
			t.Fatalf("%s: %d lines of %d refusals, want 10; %d of what was accepted, want 1", path, len(refused), flood, len(accepted))
		}
		if refused[0]["address"] != "203.0.113.7:4242" {
			t.Errorf("%s: %v, want the address of the sender", path, refused[0])
		}
		if id, _ := refused[0]["delivery_id"].(string); len(id) > 300 {
			t.Errorf("%s: the ID of a stranger has %d bytes", path, len(id))
		}
		clock = clock.Add(time.Second)
		attempt()
		refused = logLines(t, &written)["delivery not accepted"]
		if len(refused) != 1 || refused[0]["suppressed"] != float64(flood-10) {
			t.Errorf("%s: a second later: %v, want one line that says that %d were left out", path, refused, flood-10)
		}
	}
}

// logLines collects the lines in written, by message.
func logLines(t *testing.T, written *bytes.Buffer) map[string][]map[string]any {
	t.Helper()
	lines := map[string][]map[string]any{}
	for line := range strings.Lines(written.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		message, _ := fields["msg"].(string)
		lines[message] = append(lines[message], fields)
	}
	written.Reset()
	return lines
}
