package server

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// TestRegistrationSaysWhichRefsAreSelected registers a repository with a glob that
// matches branches and one that matches none. The response reports the selection before
// anything is fetched.
func TestRegistrationSaysWhichRefsAreSelected(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "kettle")
	g.commitFiles("a.txt", "a\n")
	g.runGitCommand("branch", "release/1")
	g.runGitCommand("branch", "draft")
	s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(g.dir)))
	var answer struct{ Selection wire.RefSelection }
	if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"branches":["release/*","hotfix/*"]}`, g.dir), &answer); status != http.StatusAccepted {
		t.Fatalf("register: %d, want %d", status, http.StatusAccepted)
	}
	if got := answer.Selection; got.Branches.Selected != 2 || got.Branches.Total != 3 || len(got.Unmatched) != 1 || got.Unmatched[0].Glob != "hotfix/*" {
		t.Errorf("selected are %+v, want main and release/1 of 3 branches", got)
	}
}
