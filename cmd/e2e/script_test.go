package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestScriptsOnEmbeddedLog(t *testing.T) {
	t.Log("the event log of these scripts is the embedded one")
	scripts, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	runScripts(t, scripts, nil)
}

// runScripts runs scripts with additional environment variables.
func runScripts(t *testing.T, scripts []string, environ map[string]string) {
	testscript.Run(t, testscript.Params{
		Files: scripts,
		Cmds:  scriptCommands(),
		Setup: func(e *testscript.Env) error {
			e.Setenv("GOCOVERDIR", os.Getenv("GOCOVERDIR"))
			for name, value := range environ {
				e.Setenv(name, value)
			}
			s := &session{t: t}
			e.Values[sessionKey{}] = s
			e.Defer(func() {
				if s.server != nil {
					s.server.killProcess()
				}
			})
			return nil
		},
	})
}
