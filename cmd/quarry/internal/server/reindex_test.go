package server

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestReindexTakesNewLimits raises the limit on file sizes. It searches before and after
// a refresh, which only handles refs that moved, and after a reindex.
func TestReindexTakesNewLimits(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "limits", "release*")
	large := "largeword\n" + strings.Repeat("text ", 1000)
	head := g.commitFiles("small.txt", "smallword\n", "large.txt", large)
	g.runGitCommand("branch", "release1")
	set := []string{"git.allowedRoots=" + filepath.Dir(g.dir), "data=" + filepath.Join(t.TempDir(), "data")}
	s := openOnly(t, testConfig(t, append(set, "pipeline.maxFileBytes=1024")...))
	stop := run(t, s)
	s.registerAt(t, g, head)
	if found := mustAsk(t, s, "largeword"); len(found) != 0 {
		t.Fatalf("a file above the limit is found: %v", found)
	}
	stop()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = runServer(t, testConfig(t, append(set, "pipeline.maxFileBytes=1048576")...))
	id := uint64(g.ID)
	for _, step := range []struct {
		ask, query string
		want       int
	}{{"refresh", "largeword", 0}, {"reindex", "largeword", 1}, {"reindex", "largeword rev:*", 1}, {"reindex", "smallword", 1}} {
		var r registration
		if status := postJSON(t, fmt.Sprintf("%s/api/repos/%d/%s", s.URL(), id, step.ask), "{}", &r); status != http.StatusAccepted {
			t.Fatalf("%s: %d %s", step.ask, status, r.Message)
		}
		status := awaitStatus(t, s, id, r.isApplied)
		if found := mustAsk(t, s, step.query); len(found) != step.want {
			t.Errorf("after a %s, %s is found %d times, want %d: %v", step.ask, step.query, len(found), step.want, found)
		}
		if f := status["freshness"].(map[string]any); f["waitingPushes"] != 0.0 || f["staleSeconds"] != 0.0 || f["commit"] != string(head) {
			t.Errorf("after a %s: freshness %v", step.ask, f)
		}
	}
}
