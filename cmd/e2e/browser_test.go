package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/query/auth/oidc/oidctest"
)

// TestBrowser signs in as the first user of a new server does: with the link that the
// server writes to its data directory, in a real browser without scripts, up to a key
// that can search. The walk is that of query/web, which also covers a provider.
func TestBrowser(t *testing.T) {
	t.Parallel()
	modules, program := oidctest.Modules(t, "playwright-core"), oidctest.Browser(t)
	dir := t.TempDir()
	s, err := startServer(dir, os.Environ(), "--data", filepath.Join(dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.killProcess()
	var setup string
	pollUntil(func() bool {
		setup = operator.SetupLink(s.data)
		return setup != ""
	})
	argument, err := json.Marshal(map[string]any{
		"modules": modules, "browser": program, "base": s.url, "setup": setup, "probe": "/api/repos", "scripts": false,
	})
	if err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), "node", "../../query/web/testdata/browser.mjs", string(argument)).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, said, s.output)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}
