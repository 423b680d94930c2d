package apitest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/client"
)

// findProgram returns the path at which make api-test installs Schemathesis. Without that
// target the test is skipped, because it is slow.
func findProgram(t *testing.T) string {
	t.Helper()
	path := os.Getenv("QUARRY_SCHEMATHESIS")
	_, err := exec.LookPath(path)
	switch {
	case path == "":
		t.Skip("Schemathesis: make api-test runs it")
	case err != nil && os.Getenv("QUARRY_REQUIRE_ALL") == "1":
		t.Fatalf("Schemathesis: %v; make api-test installs it with python3", err)
	case err != nil:
		t.Skipf("Schemathesis: %v; make api-test installs it with python3", err)
	}
	return path
}

// maxSeconds bounds each run.
const maxSeconds = 30

// undoing lists operations that remove what the others need. They are tested last,
// separately.
var undoing = []string{
	"removeRepository", "eraseRepository", "endSessions", "endSession", "deleteKey", "deleteUser", "suspendUser", "changeRole", "rollBackReplay", "startReplay",
}

// TestSchemathesis runs Schemathesis as each kind of caller and expects no failure.
func TestSchemathesis(t *testing.T) {
	path := findProgram(t)
	w := newWorld(t)
	document := w.writeDocument(t)
	var only, without []string
	for _, operation := range undoing {
		only = append(only, "--include-operation-id="+operation)
		without = append(without, "--exclude-operation-id="+operation)
	}
	t.Run("callers", func(t *testing.T) {
		for _, tc := range []struct {
			name, key string
			args      []string
		}{
			{"anonymous", "", nil},
			{"member", w.memberKey, without},
			{"owner", w.ownerKey, without},
			{"operator", w.operator, without},
		} {
			t.Run(tc.name, func(t *testing.T) {
				t.Parallel()
				w.runSchemathesis(t, path, document, tc.key, tc.args)
			})
		}
	})
	t.Run("owner, undoing", func(t *testing.T) {
		w.runSchemathesis(t, path, document, w.ownerKey, append(only, "--phases=examples,coverage,fuzzing"))
	})
}

// writeDocument writes the server's document with examples that exist, a repository and a
// user, and returns its path.
func (w *world) writeDocument(t *testing.T) string {
	t.Helper()
	c, err := client.New(w.url, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.Raw(t.Context(), http.MethodGet, "/api/openapi.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	id := strconv.FormatInt(w.repoID, 10)
	text := strings.NewReplacer(`"example":42,`, `"example":`+id+`,`, `"example":42}`, `"example":`+id+`}`,
		`"repoIds":[42]`, `"repoIds":[`+id+`]`, exampleUser, w.member).Replace(string(b))
	path := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// exampleUser is the user ID in the examples.
const exampleUser = "5f0c2e8a91b34d77a0c1e2f3"

func (w *world) runSchemathesis(t *testing.T, path, document, key string, args []string) {
	t.Helper()
	seed := os.Getenv("QUARRY_SEED")
	if seed == "" {
		seed = strconv.Itoa(os.Getpid())
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	all := append([]string{
		"--config-file=" + filepath.Join(here, "schemathesis.toml"), "run", document, "--url=" + w.url,
		"--no-color", "--workers=1", "--seed=" + seed, "--max-time=" + strconv.Itoa(maxSeconds),
	}, args...)
	if key != "" {
		all = append(all, "--header=Authorization: Bearer "+key)
	}
	command := exec.CommandContext(t.Context(), path, all...)
	command.Dir = filepath.Dir(document) // Schemathesis writes files to its working directory
	command.Env = append(os.Environ(), "SCHEMATHESIS_HOOKS="+filepath.Join(here, "hooks.py"), "PYTHONDONTWRITEBYTECODE=1")
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	if err := command.Run(); err != nil {
		t.Errorf("%v\n%s", err, said.String())
	}
	t.Logf("seed %s: %s", seed, lastLine(said.String()))
}

// lastLine returns the last line that is not empty.
func lastLine(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return fmt.Sprint(strings.Trim(lines[len(lines)-1], "= "))
}
