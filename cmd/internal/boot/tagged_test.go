package boot

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestVersionOfATag builds a program with the source of this package in a repository: its
// version is that of the tag at its commit, and that of the newest tag and the commit after
// it, if there is a later commit.
func TestVersionOfATag(t *testing.T) {
	dir := t.TempDir()
	source, err := os.ReadFile("version.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":     "module example.org/tagged\n\ngo 1.26\n",
		"version.go": strings.Replace(string(source), "package boot", "package main", 1),
		"main.go":    "package main\n\nfunc main() { println(ReadBuild().Version) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runIn := func(name string, args ...string) string {
		t.Helper()
		command := exec.Command(name, args...)
		command.Dir = dir
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GOFLAGS=-trimpath", "GOWORK=off", "GOTOOLCHAIN=local",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	build := func(flags ...string) string {
		t.Helper()
		binary := filepath.Join(t.TempDir(), "tagged")
		runIn("go", append(append([]string{"build", "-buildvcs=auto"}, flags...), "-o", binary, ".")...)
		return runIn(binary)
	}
	runIn("git", "init", "-q")
	runIn("git", "add", ".")
	runIn("git", "commit", "-q", "-m", "first")
	if got := build(); !strings.HasPrefix(got, "v0.0.0-") {
		t.Errorf("without a tag: %s", got)
	}
	runIn("git", "tag", "v1.2.3")
	if got := build(); got != "v1.2.3" {
		t.Errorf("at the tag: %s", got)
	}
	runIn("git", "commit", "-q", "--allow-empty", "-m", "second")
	if got := build(); !regexp.MustCompile(`^v1\.2\.4-0\.[0-9]{14}-[0-9a-f]{12}$`).MatchString(got) {
		t.Errorf("after the tag: %s", got)
	}
	if got := build("-ldflags=-X main.release=v1.3.0"); got != "v1.3.0" {
		t.Errorf("with a release: %s", got)
	}
}
