package server

import (
	"encoding/json"
	"os/exec"
	"strconv"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/query/auth/oidc/oidctest"
)

// TestLivePagesInABrowser watches results and repositories in a real browser while pushes
// arrive: new results are counted and shown on request, badges change, a broken stream
// resumes, and the pages work without scripts.
func TestLivePagesInABrowser(t *testing.T) {
	t.Parallel()
	modules, program := oidctest.Modules(t, "playwright-core"), oidctest.Browser(t)
	g := newGitRepository(t, "kettle", "main")
	commit := g.commitFiles("kettle.go", "package kettle\n\nfunc boil() {}\n", "README.md", "How to boil water.\n")
	s := runServer(t, testConfig(t, "git.allowedRoots="+g.dir, "limits.anonymousPerSecond=0", "limits.perSecond=0"))
	s.registerAt(t, g, commit)
	argument, err := json.Marshal(map[string]any{
		"modules": modules, "browser": program, "base": s.URL(), "dir": g.dir,
		"id":         strconv.FormatUint(uint64(s.accounts.Numbers.OfRepository(g.ID)), 10),
		"credential": "Bearer " + operator.Token(s.o.Config.Data),
	})
	if err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), "node", "testdata/live.mjs", string(argument)).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}
