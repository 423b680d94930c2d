package clienttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// language describes how to build the program that calls a server, in a directory with
// openapi.json.
type language struct {
	name    string
	title   string // title of its section in docs/api.md
	program string // path of the generator in the tools directory; empty for Go
	build   []string
	run     []string
}

var languages = []language{
	{name: "go", title: "Go", build: []string{"go", "build", "-o", "caller", "."}, run: []string{"./caller"}},
	{name: "python", title: "Python", program: "python/bin/openapi-python-client", run: []string{"python", "driver.py"}},
	{
		name: "typescript", title: "TypeScript", program: "node_modules/.bin/openapi-zod-client",
		build: []string{"node_modules/.bin/tsc"}, run: []string{"node", "out/driver.js"},
	},
}

// toolsDirectory returns the directory in which make clients-test installs the
// generators. Without that target the test is skipped, because it is slow.
func toolsDirectory(t *testing.T) string {
	t.Helper()
	path := os.Getenv("QUARRY_CLIENT_TOOLS")
	if path == "" {
		t.Skip("generated clients: make clients-test runs them")
	}
	return path
}

// generateClient generates a client from a document, and starts the driver that calls a
// server with it.
func (l *language) generateClient(t *testing.T, tools string, document []byte, url string) *driver {
	t.Helper()
	if _, err := exec.LookPath(filepath.Join(tools, l.program)); err != nil && l.program != "" {
		if os.Getenv("QUARRY_REQUIRE_ALL") == "1" {
			t.Fatalf("generator of %s: %v; make clients-test installs it with python3, node and npm", l.title, err)
		}
		t.Skipf("generator of %s: %v; make clients-test installs it with python3, node and npm", l.title, err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", l.name))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "openapi.json"), document, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(tools, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	environment := append(os.Environ(), "PATH="+filepath.Join(tools, "python", "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"), "GOWORK=off")
	run := func(name string, args ...string) {
		command := exec.CommandContext(t.Context(), name, args...)
		command.Dir, command.Env = dir, environment
		if said, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, said)
		}
	}
	run("sh", "-ec", commandOf(t, l.title))
	if len(l.build) > 0 {
		run(l.build[0], l.build[1:]...)
	}
	command := exec.Command("sh", "-c", fmt.Sprintf("exec %s %s", strings.Join(l.run, " "), url))
	command.Dir, command.Env = dir, environment
	return startDriver(t, command)
}

// commandOf returns the commands in docs/api.md that generate a client in a language,
// without those that install the generator. They are tested exactly as readers see them.
func commandOf(t *testing.T, title string) string {
	t.Helper()
	_, install, generate := documentedCommands(t, title)
	if install == "" || generate == "" {
		t.Fatalf("docs/api.md: the part ### %s has no commands in two blocks of sh, one that installs the generator and one that generates a client", title)
	}
	return generate
}

// documentedCommands returns the section of docs/api.md with a title, and its two code
// blocks.
func documentedCommands(t *testing.T, title string) (part, install, generate string) {
	t.Helper()
	b, err := os.ReadFile("../../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ = strings.Cut(string(b), "\n### "+title+"\n")
	part, _, _ = strings.Cut(part, "\n#")
	_, rest, _ := strings.Cut(part, "```sh\n")
	install, rest, _ = strings.Cut(rest, "```")
	_, rest, _ = strings.Cut(rest, "```sh\n")
	generate, _, _ = strings.Cut(rest, "```")
	return part, install, generate
}
