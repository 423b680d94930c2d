package e2e

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestScriptsOnEmbeddedLog(t *testing.T) {
	t.Log("the event log of these scripts is the embedded one")
	runScripts(t, "testdata", nil)
}

// runScripts runs every script of dir with further environment variables.
func runScripts(t *testing.T, dir string, environ map[string]string) {
	testscript.Run(t, testscript.Params{
		Dir:  dir,
		Cmds: commands(),
		Setup: func(e *testscript.Env) error {
			for name, value := range environ {
				e.Setenv(name, value)
			}
			s := new(session)
			e.Values[sessionKey{}] = s
			e.Defer(func() {
				if s.server != nil {
					s.server.kill()
				}
			})
			return nil
		},
	})
}
