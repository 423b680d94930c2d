package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/auth/oidc/oidctest"
)

// TestPlaceIsKept checks in a real browser, with and without scripts, that views of a file
// keep the reader's place, and that lines have the right numbers. QUARRY_WEB_SHOTS=DIR
// saves screenshots.
func TestPlaceIsKept(t *testing.T) {
	t.Parallel()
	modules, program := oidctest.Modules(t, "playwright-core"), oidctest.Browser(t)
	var main strings.Builder
	main.WriteString("package main\n\n// Run runs.\nfunc Run() int {\n")
	for n := 1; n <= 400; n++ {
		fmt.Fprintf(&main, "\tkettle%d := \"boil, and a text that is so long that the line wraps in the window of a phone %d\"\n", n, n)
	}
	main.WriteString("\treturn 1\n}\n\nfunc main() { Run() }\n")
	dir := gitTree(t, map[string]string{"src/main.go": main.String(), "src/other.go": "package other\n\nfunc Run() {}\n", "src/a.go": "package other\n\nfunc Run() {}\n"})
	git := func(args ...string) {
		runGit(t, nil, append([]string{"-C", dir, "-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)...)
	}
	git("branch", "--move", "main")
	for _, branch := range []string{"3.1", "3.10", "3.2", "3.3"} {
		git("branch", branch)
	}
	git("tag", "v1.0")
	if err := os.WriteFile(filepath.Join(dir, "src/main.go"), []byte(main.String()+"// more\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git("commit", "--quiet", "--all", "--message", "more")
	s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(dir), "access.anonymous=on", "limits.anonymousPerSecond=0", "limits.perSecond=0"))
	var r registration
	if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":"code.example/place","branches":["*"],"tags":["*"]}`, dir), &r); status != http.StatusAccepted {
		t.Fatalf("register: %d %s", status, r.Message)
	}
	awaitStatus(t, s, r.RepoID, func(status map[string]any) bool {
		refs, _ := status["refs"].([]any)
		return r.isApplied(status) && len(refs) == 6
	})
	for _, scripts := range []bool{false, true} {
		t.Run(fmt.Sprintf("scripts=%t", scripts), func(t *testing.T) {
			t.Parallel()
			argument, err := json.Marshal(map[string]any{"modules": modules, "browser": program, "base": s.URL(), "scripts": scripts, "shots": os.Getenv("QUARRY_WEB_SHOTS")})
			if err != nil {
				t.Fatal(err)
			}
			if said, err := exec.CommandContext(t.Context(), "node", "testdata/place.mjs", string(argument)).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
		})
	}
}
