package testserver

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// MakeRepository creates a git repository at dir with everything that the examples of the
// OpenAPI document name: two commits on main, src/boil.go, and a file that is not text.
func MakeRepository(t testing.TB, dir string) {
	t.Helper()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		command := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.org"}, args...)...)
		command.Dir = dir
		runCommand(t, command)
	}
	write("src/boil.go", "package kettle\n\nfunc Boil() int { return 100 }\n")
	write("logo.png", "\x89PNG\x00\x01")
	git("init", "-q", "-b", "main")
	git("add", "-A")
	git("commit", "-qm", "Boil")
	write("src/boil.go", "package kettle\n\nfunc Boil() int { return 99 }\n")
	git("commit", "-qam", "Boil faster")
}
