package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// syncingServer has one connection. Its sync starts when requested and ends two polls
// later.
type syncingServer struct {
	state     string
	startedAt time.Time
	requested bool
	looks     int  // polls since the sync was requested
	removed   bool // removed by the request
}

func (x *syncingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	var answer any = map[string]any{"names": []string{"lab"}}
	switch {
	case r.Method == http.MethodPost:
		x.requested, x.startedAt = true, x.startedAt.Add(time.Millisecond)
		w.WriteHeader(http.StatusAccepted)
	case x.removed && x.requested:
		answer = []any{}
	default:
		state := x.state
		if x.requested {
			if x.looks++; x.looks <= 2 {
				state = "running"
			}
		}
		answer = []any{map[string]any{
			"name": "lab", "kind": "gitea",
			"sync": map[string]any{"state": state, "startedAt": x.startedAt.UTC().Format("2006-01-02T15:04:05.000Z")},
		}}
	}
	_ = json.NewEncoder(w).Encode(answer) // the client reports what is missing
}

// TestSyncWaits runs with a server clock that is an hour behind, equal to, and an hour
// ahead of the clock of the command.
func TestSyncWaits(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, 0, time.Hour} {
		x := &syncingServer{state: "complete", startedAt: time.Now().Add(ahead)}
		server := httptest.NewServer(x)
		t.Cleanup(server.Close)
		code, out, stderr := runQuarry(t.Context(), "connections", "sync", "lab", "--wait", "--server", server.URL)
		if code != exitOK || !strings.Contains(out, "complete") || x.looks != 3 {
			t.Errorf("clock %s ahead: exit code %d after %d looks\n%s%s", ahead, code, x.looks, out, stderr)
		}
	}
}

func TestSyncWaitsForNoRemovedConnection(t *testing.T) {
	server := httptest.NewServer(&syncingServer{state: "complete", startedAt: time.Now(), removed: true})
	defer server.Close()
	code, _, stderr := runQuarry(t.Context(), "connections", "sync", "lab", "--wait", "--server", server.URL)
	if code == exitOK || !strings.Contains(stderr, "were removed after their sync was requested") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

// TestConnectionsPrintPermissions prints readings that fail, and exits with 1.
func TestConnectionsPrintPermissions(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `[{"id":1,"name":"hub","connectionType":"github","permissions":{"state":"incomplete","repositories":8,"failing":2,"oldestReadAt":"2026-03-03T22:11:00.000Z",
			"issues":[{"code":"forbidden","target":"hub.example/acme/vault","message":"The token may not list this.","detail":"Must have push access"}],"moreIssues":1}},
			{"id":2,"name":"lab","connectionType":"gitlab","permissions":{"state":"elsewhere","repositories":0,"failing":0,"issues":[],"moreIssues":0}}]`) // the client says what is missing
	}))
	defer server.Close()
	code, out, stderr := runQuarry(t.Context(), "connections", "--server", server.URL)
	if code != exitFailed || !strings.Contains(out, "incomplete, 2 of 8 failing, oldest 2026-03-0") || !strings.Contains(out, "elsewhere\n") ||
		!strings.Contains(out, "hub: permissions: hub.example/acme/vault: forbidden: The token may not list this.\n  Must have push access\nhub: permissions: 1 more issues\n") {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
}
