package server

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutation reverts a fix: it replaces a text in each file. The text must exist.
type mutation struct {
	file, text, becomes string
}

// TestSimulationFindsWhatIsTakenBack builds this test without the fixes for the loss of
// mirrors and of segments (go build -overlay), and checks that the simulation fails. A
// failure that names a missing text means that the mutation must be adapted to the code.
func TestSimulationFindsWhatIsTakenBack(t *testing.T) {
	if os.Getenv("QUARRY_REQUIRE_ALL") == "" {
		t.Skip("builds the test two more times, some minutes: set QUARRY_REQUIRE_ALL=1")
	}
	for name, test := range map[string]struct {
		mutations []mutation
		finds     string
	}{
		"mirrors lost, then a push of only a ref": {
			[]mutation{
				{"pipeline/mirror/refs.go", "	if !m.hasRepository() {\n		return m.wrapError(\"update\", errNoMirror)\n	}\n	if err := m.setIndexed(", "	if err := m.setIndexed("},
				{"pipeline/mirror/command.go", `c.gitDir != "" && strings.Contains(stderr, notRepository+`, `false && strings.Contains(stderr, notRepository+`},
				{"pipeline/indexer/pushes.go", "	head := m.AnnouncedDefault()\n", `	for _, of := range g.refs {
		if of.ref == "" || !of.wantsRefresh() {
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
			[]mutation{{"cmd/quarry/internal/repair/reindexer.go", "return r.requestRefs(ctx, r.selectDue(refs), missing)", "_ = refs\n	return nil"}},
			"documents are in no segment",
		},
	} {
		t.Run(name, func(t *testing.T) {
			command := exec.Command("go", "test", "-overlay", writeOverlay(t, test.mutations), "-vet=off", "-count=1", "-run", "^TestSimulation$", ".")
			command.Env = append(os.Environ(), "QUARRY_EVENTS=40000", "QUARRY_SEED=1")
			out, err := command.CombinedOutput()
			if err == nil || !strings.Contains(string(out), test.finds) {
				t.Errorf("the simulation does not find it: %v\n%s", err, out)
			}
		})
	}
}

// writeOverlay writes the mutated files, and the file for go build -overlay.
func writeOverlay(t *testing.T, mutations []mutation) string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for i, m := range mutations {
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
		replace[path] = filepath.Join(dir, string(rune('a'+i))+".go")
		writeTestFile(t, replace[path], []byte(strings.Replace(string(code), m.text, m.becomes, 1)))
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
