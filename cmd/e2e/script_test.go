package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestScriptsOnEmbeddedLog(t *testing.T) {
	t.Parallel()
	t.Log("the event log of these scripts is the embedded one")
	scripts, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	testscript.Run(t, scriptParams(t, scripts, nil))
}

// oneScript runs a script as part of a test: it does not give up the test's turn, while
// the broker of the test runs, to wait for another one.
type oneScript struct{ *testing.T }

// Run, Parallel and Verbose implement testscript.T.
func (s oneScript) Run(_ string, script func(testscript.T)) { script(s) }

// Parallel is documented with Run.
func (s oneScript) Parallel() {}

// Verbose is documented with Run.
func (s oneScript) Verbose() bool { return testing.Verbose() }

// scriptParams returns the parameters of scripts with additional environment variables.
func scriptParams(t *testing.T, scripts []string, environ map[string]string) testscript.Params {
	return testscript.Params{
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
				switch {
				case s.server == nil:
				case environ == nil:
					s.server.killProcess()
				default: // it leaves the broker
					_ = s.server.stop()
				}
			})
			return nil
		},
	}
}
