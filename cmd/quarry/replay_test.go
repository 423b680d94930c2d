package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// TestReplayThroughAServer replays the log through servers: one with everything, which keeps the
// previous version, and fronts. The command says how each replica ended, and only names a rollback
// that is possible.
func TestReplayThroughAServer(t *testing.T) {
	const rollback = "quarry replay --rollback"
	node := func(address string, id int, state wire.ReplayNodeState, problem string) wire.ReplayNode {
		return wire.ReplayNode{Share: "0", Address: address, ID: id, State: state, Problem: problem}
	}
	done, building := wire.ReplayNodeStateDone, wire.ReplayNodeStateBuilding
	for name, c := range map[string]struct {
		previous string
		begun    []wire.ReplayNode
		lists    [][]wire.ReplayNode // one after another; the last one stays
		want     []string
		lacks    string
		code     int
	}{
		"everything": {"projections-1", nil, [][]wire.ReplayNode{nil}, []string{"rebuilt from the log", rollback}, "share", exitOK},
		"front": {
			"", []wire.ReplayNode{node("a", 3, building, "")},
			[][]wire.ReplayNode{{node("a", 3, building, "a later one has not begun")}, {node("a", 0, "", "does not answer")}, {node("a", 3, done, "a later one has not begun")}},
			[]string{"rebuilt from the log", "share 0 at a: done"}, rollback, exitOK,
		},
		"failures": {
			"", []wire.ReplayNode{node("a", 3, building, ""), node("b", 4, building, ""), node("c", 0, "", "is busy"), node("d", 5, building, ""), node("e", 6, building, "")},
			[][]wire.ReplayNode{{node("a", 3, "failed", ""), node("b", 1, building, ""), node("c", 9, building, ""), node("d", 5, done, "")}},
			[]string{"a: not replayed: failed", "b: not replayed: the replica was restarted, or has begun another", "c: not replayed: is busy", "d: done", "e: not replayed: the front does not know", "4 of 5 replicas"},
			rollback, exitFailed,
		},
		"no answer": {
			"", []wire.ReplayNode{node("a", 3, building, "")}, [][]wire.ReplayNode{{node("a", 0, "", "is lost")}},
			[]string{"a: not replayed: is lost", "1 of 1 replicas"}, rollback, exitFailed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, lists := t.TempDir(), c.lists // no server runs on the data directory
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				begun := wire.Replay{ID: 1, State: wire.ReplayStateDone, Nodes: c.begun}
				var answer any = begun
				if r.Method == http.MethodGet {
					answer = wire.Replays{Previous: wire.ProjectionVersion{Name: c.previous}, Replays: []wire.Replay{begun}, Nodes: lists[0]}
					lists = slices.Delete(lists, 0, min(1, len(lists)-1))
				}
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(answer)
			}))
			defer server.Close()
			var out, screen bytes.Buffer
			code := run(t.Context(), []string{"replay", "--data", data, "--server", server.URL}, streams{out: &out, err: &screen, errScreen: &screen})
			text := out.String() + screen.String()
			if code != c.code || strings.Contains(text, c.lacks) {
				t.Errorf("status %d, want %d; want no %q in:\n%s", code, c.code, c.lacks, text)
			}
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("want %q in:\n%s", want, text)
				}
			}
			if left, err := os.ReadDir(data); err != nil || len(left) > 0 {
				t.Errorf("the local data directory has %v, %v", left, err)
			}
		})
	}
}
