package server

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutation reverts a fix while "mutated" is true: it replaces a text in a file. The text
// must exist. QUARRY_MUTATION names the fix that is reverted.
type mutation struct {
	file, text, becomes string
}

// TestSimulationFindsWhatIsTakenBack builds this test with the fixes for the loss of
// mirrors and of segments taken back on request (go test -overlay), and checks that the
// simulation fails without each. A failure that names a missing text means that the
// mutation must be adapted to the code.
func TestSimulationFindsWhatIsTakenBack(t *testing.T) {
	t.Parallel()
	if os.Getenv("QUARRY_REQUIRE_ALL") == "" {
		t.Skip("builds the test once more, a minute: set QUARRY_REQUIRE_ALL=1")
	}
	tests := map[string]struct {
		mutations []mutation
		finds     string
	}{
		"mirrors lost, then a push of only a ref": {
			[]mutation{
				{"pipeline/mirror/refs.go", "	if !m.hasRepository() {\n		return m.wrapError(\"update\", errNoMirror)\n	}\n	if err := m.setIndexed(", "	if !mutated && !m.hasRepository() {\n		return m.wrapError(\"update\", errNoMirror)\n	}\n	if err := m.setIndexed("},
				{"pipeline/mirror/command.go", `c.gitDir != "" && strings.Contains(stderr, notRepository+`, `!mutated && c.gitDir != "" && strings.Contains(stderr, notRepository+`},
				{"pipeline/indexer/pushes.go", "	head := m.AnnouncedDefault()\n", `	for _, of := range g.refs {
		if !mutated || of.ref == "" || !of.wantsRefresh() {
			continue
		}
		if err := m.SetIndexed(ctx, of.ref, "", ""); err != nil && !errors.Is(err, mirror.ErrMissing) {
			return err
		}
	}
	head := m.AnnouncedDefault()
`},
			},
			"git update-ref: repository is not there: fatal: not a git repository",
		},
		"segments lost": {
			[]mutation{{"projections/repair/reindexer.go", "	return r.requestRefs(ctx, r.selectDue(refs), missing)", "	if mutated {\n		return nil\n	}\n	return r.requestRefs(ctx, r.selectDue(refs), missing)"}},
			"documents are in no segment",
		},
	}
	mutations := map[string][]mutation{}
	for name, test := range tests {
		mutations[name] = test.mutations
	}
	program := filepath.Join(t.TempDir(), "mutated.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", program, "-overlay", writeOverlay(t, mutations), "-vet=off", "-ldflags=-s -w", ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, out)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := exec.CommandContext(t.Context(), program, "-test.run", "^TestSimulation$")
			command.Env = append(os.Environ(), "QUARRY_EVENTS=40000", "QUARRY_SEED=1", "QUARRY_MUTATION="+name)
			out, err := command.CombinedOutput()
			if err == nil || !strings.Contains(string(out), test.finds) {
				t.Errorf("QUARRY_MUTATION=%q: the simulation does not find it: %v\n%s", name, err, out)
			}
		})
	}
}

// writeOverlay writes the mutated files, a file in each of their packages that declares
// "mutated", and the file for go test -overlay.
func writeOverlay(t *testing.T, mutations map[string][]mutation) string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	add := func(path, code string) {
		replace[path] = filepath.Join(dir, fmt.Sprint(len(replace), ".go"))
		writeTestFile(t, replace[path], []byte(code))
	}
	for name, list := range mutations {
		for _, m := range list {
			path, err := filepath.Abs(filepath.Join("..", "..", "..", "..", m.file))
			if err != nil {
				t.Fatal(err)
			}
			code, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(string(code), m.text) != 1 {
				t.Fatalf("%s does not have this text once:\n%s", m.file, m.text)
			}
			add(path, strings.Replace(string(code), m.text, m.becomes, 1))
			declaration := filepath.Join(filepath.Dir(path), "mutated.go")
			if replace[declaration] == "" {
				add(declaration, fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar mutated = os.Getenv(\"QUARRY_MUTATION\") == %q\n", filepath.Base(filepath.Dir(path)), name))
			}
		}
	}
	file, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	writeTestFile(t, path, file)
	return path
}

func writeTestFile(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
