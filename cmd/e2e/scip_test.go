package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/projections/scip"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// indexedPackage is a small package in which two types have a method with the same name.
// One of them is called through an interface or a result, after characters of one, two
// and four bytes.
type indexedPackage struct {
	tool  string
	files map[string]string
	// command returns the command that writes index.scip into its directory, or skips the
	// test.
	command func(t *testing.T) []string
	// line contains a call, and definition is the line of the method that it calls.
	file, line, call, definition string
}

var indexedPackages = []indexedPackage{
	{
		tool: "scip-go", file: "main.go", line: "Boil(100)", call: "Boil", definition: "pot/pot.go:7",
		command: func(t *testing.T) []string { return []string{programPath(t, "scip-go"), "index", "--quiet"} },
		files: map[string]string{
			"go.mod": "module example.com/kettle\n\ngo 1.22\n",
			"pot/pot.go": `// Package pot holds water.
package pot

// Boiler boils.
type Boiler interface {
	// Boil heats until it sings.
	Boil(degrees int) error
}

// Pot is a Boiler.
type Pot struct{ degrees int }

// Boil heats a pot.
func (p *Pot) Boil(degrees int) error {
	p.degrees = degrees
	return nil
}
`,
			"main.go": `package main

import "example.com/kettle/pot"

type paint struct{}

// Boil spoils paint.
func (paint) Boil() {}

func pick() pot.Boiler { return &pot.Pot{} }

func main() {
	paint{}.Boil()
	boiler := pick()
	/* é 🫖 */ _ = boiler.Boil(100)
}
`,
		},
	},
	{
		tool: "scip-typescript", file: "main.ts", line: "boil(100)", call: "boil", definition: "pot.ts:3",
		command: func(t *testing.T) []string { return nodeIndexer(t, "scip-typescript/dist/src/main.js") },
		files: map[string]string{
			"package.json":  `{"name": "kettle", "version": "1.0.0"}`,
			"tsconfig.json": `{"compilerOptions": {"module": "commonjs", "target": "es2020", "strict": true, "types": [], "lib": ["es2020"]}, "include": ["*.ts"]}`,
			"pot.ts": `/** Boils water. */
export interface Boiler {
  boil(degrees: number): void;
}

export class Pot implements Boiler {
  /** Heats the pot. */
  boil(degrees: number): void {}
}
`,
			"main.ts": `import { Boiler, Pot } from "./pot";

class Paint {
  boil(): void {}
}

function pick(): Boiler {
  return new Pot();
}

new Paint().boil();
const kettle = pick();
/* é 🫖 */ kettle.boil(100);
`,
		},
	},
	{
		tool: "scip-python", file: "main.py", line: "boil(100)", call: "boil", definition: "pot.py:4",
		command: func(t *testing.T) []string {
			none := filepath.Join(t.TempDir(), "packages.json") // use installed programs only
			if err := os.WriteFile(none, []byte("[]"), 0o600); err != nil {
				t.Fatal(err)
			}
			return append(nodeIndexer(t, "scip-python/index.js"), "--project-name", "kettle", "--project-version", "1", "--environment", none)
		},
		files: map[string]string{
			"pot.py": `class Pot:
    """Holds water."""

    def boil(self, degrees: int) -> None:
        """Heats the pot."""
        self.degrees = degrees
`,
			"main.py": `from pot import Pot


class Paint:
    def boil(self) -> None:
        pass


def pick() -> Pot:
    return Pot()


Paint().boil()
kettle = pick()
print("é 🫖"); kettle.boil(100)
`,
		},
	},
}

// programPath returns the path of a program, or skips the test.
func programPath(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
	case os.Getenv("QUARRY_REQUIRE_ALL") == "1":
		t.Fatalf("%v; docs/testing.md says where it is from", err)
	default:
		t.Skipf("%v; docs/testing.md says where it is from", err)
	}
	return path
}

// nodeIndexer returns the command of an npm indexer, or skips the test.
func nodeIndexer(t *testing.T, program string) []string {
	t.Helper()
	program = filepath.Join("@sourcegraph", program)
	return []string{"node", filepath.Join(nodeModules(t, program), program), "index"}
}

// TestIndexers makes each indexer write the index of a small package, uploads the index,
// and compares the results at every name with the index.
func TestIndexers(t *testing.T) {
	t.Parallel()
	c := newCrashing(t)
	c.startServer()
	for i := range indexedPackages {
		p := &indexedPackages[i]
		t.Run(p.tool, func(t *testing.T) { comparePackage(t, c, p) })
	}
}

func comparePackage(t *testing.T, c *crashing, p *indexedPackage) {
	command := p.command(t)
	tree := filepath.Join(c.dir, p.tool)
	for name, text := range p.files {
		path := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "begin"}} {
		if err := runGit(tree, args...); err != nil {
			t.Fatal(err)
		}
	}
	indexer := exec.Command(command[0], command[1:]...)
	indexer.Dir = tree
	if out, err := indexer.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", p.tool, err, out)
	}
	c.runQuarry(t, "index", "--name", p.tool, tree)
	c.runQuarry(t, "scip", "upload", "--repo", p.tool, "--commit", commitOf(tree, "HEAD"), filepath.Join(tree, "index.scip"))
	index := readScipIndex(t, tree)
	compared := map[string]int{}
	for i := range index.places {
		index.compare(t, c, p.tool, &index.places[i], compared)
	}
	t.Logf("compared %v", compared)
	if compared["find_definitions"] < 5 || compared["find_references"] < 10 || compared["hover"] < 5 {
		t.Errorf("compared %v: the index says too little to show anything", compared)
	}
	for i := range index.places {
		if at := &index.places[i]; at.file == p.file && at.word == p.call && strings.Contains(at.text, p.line) {
			if got := index.list(at, true); !slices.Equal(slices.Collect(maps.Keys(countPlaces(got))), []string{p.definition}) {
				t.Errorf("the indexer defines the call at %v: want %s", got, p.definition)
			}
			return
		}
	}
	t.Errorf("the indexer says nothing of %s in %s", p.line, p.file)
}

// runQuarry runs a command against the server.
func (c *crashing) runQuarry(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("quarry", append(args, "--server", c.server.url, "--data", c.server.data)...).CombinedOutput()
	if err != nil {
		t.Fatalf("quarry %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// post sends a JSON body and decodes the response, whose status must be 200.
func (c *crashing) post(t *testing.T, path string, body, answer any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := clientOf(strings.TrimPrefix(c.server.url, "http://")).Post(c.server.url+path, "application/json", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("POST %s %s: %s", path, text, response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
		t.Fatal(err)
	}
}

// scipIndex is a decoded index, with lines and columns from 1, and columns in characters.
type scipIndex struct {
	root        string
	tool        string
	places      []scipPlace
	information map[string]scip.Information // by symbol, and by file for a local one
}

// scipPlace is the place of an occurrence.
type scipPlace struct {
	file, word, text      string // of the line
	symbol                string
	line, column, columns int
	defined               bool
}

func readScipIndex(t *testing.T, root string) *scipIndex {
	t.Helper()
	f, err := os.Open(filepath.Join(root, "index.scip"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	x := &scipIndex{root: root, information: map[string]scip.Information{}}
	if err := scip.ReadIndex(f, scip.Limits{}, x); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *scipIndex) VisitMetadata(m *scip.Metadata) error { x.tool = m.Tool; return nil }

func (x *scipIndex) VisitExternal(i *scip.Information) error { return nil }

func (x *scipIndex) VisitDocument(d *scip.Document) error {
	text, err := os.ReadFile(filepath.Join(x.root, d.Path))
	if err != nil {
		return err
	}
	for i := range d.Symbols() {
		x.information[symbolIn(i.Symbol, d.Path)] = i
	}
	lines := strings.Split(string(text), "\n")
	for o := range d.Occurrences() {
		if o.Start.Line != o.End.Line {
			continue
		}
		line := lines[o.Start.Line]
		start, end := toBytes(d.Encoding, line, o.Start.Column), toBytes(d.Encoding, line, o.End.Column)
		x.places = append(x.places, scipPlace{
			file: d.Path, word: line[start:end], text: line, symbol: symbolIn(o.Symbol, d.Path), line: o.Start.Line + 1,
			column: utf8.RuneCountInString(line[:start]) + 1, columns: utf8.RuneCountInString(line[start:end]), defined: o.Roles&scip.RoleDefinition != 0,
		})
	}
	return nil
}

// symbolIn returns a name that distinguishes the local symbols of different files.
func symbolIn(symbol, file string) string {
	if strings.HasPrefix(symbol, "local ") {
		return symbol + " in " + file
	}
	return symbol
}

// toBytes returns the byte offset of a column in a line.
func toBytes(unit scip.Encoding, line string, column int) int {
	switch unit {
	case scip.UTF16:
		return len(string(utf16.Decode(utf16.Encode([]rune(line))[:column])))
	case scip.UTF32:
		return len(string([]rune(line)[:column]))
	}
	return column
}

// list returns the sorted places of the symbol at a place. With definitions, it returns
// the places that define the symbol, including those without a name for a whole file;
// otherwise all places with a name.
func (x *scipIndex) list(at *scipPlace, definitions bool) (out []string) {
	for i := range x.places {
		if p := &x.places[i]; p.symbol == at.symbol && (definitions && p.defined || !definitions && p.columns > 0) {
			out = append(out, formatPlace(p.file, p.line, p.column, p.columns))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func formatPlace(file string, line, column, columns int) string {
	return fmt.Sprintf("%s:%d:%d+%d", file, line, column, columns)
}

// countPlaces counts places by file and line.
func countPlaces(places []string) map[string]int {
	out := map[string]int{}
	for _, p := range places {
		parts := strings.SplitN(p, ":", 3)
		out[parts[0]+":"+parts[1]]++
	}
	return out
}

var wholeName = regexp.MustCompile(`^[A-Za-z_]\w*$`)

// compare requests the definitions, references and hover text at a place, and compares
// them with the index. If several symbols are at one place, the first counts.
func (x *scipIndex) compare(t *testing.T, c *crashing, repo string, at *scipPlace, compared map[string]int) {
	t.Helper()
	first := slices.IndexFunc(x.places, func(p scipPlace) bool { return p.file == at.file && p.line == at.line && p.column == at.column })
	if !wholeName.MatchString(at.word) || &x.places[first] != at {
		return
	}
	request := wire.FindSymbolsRequest{
		SymbolName: at.word, Position: wire.FindPosition{RepoName: repo, Path: at.file, LineNumber: at.line, Column: at.column},
	}
	for _, operation := range []string{"find_definitions", "find_references"} {
		want := x.list(at, operation == "find_definitions")
		var found wire.FindSymbolsResponse
		c.post(t, "/api/"+operation, request, &found)
		var got []string
		for _, f := range found.Files {
			for _, m := range f.Matches {
				if m.Precise && f.Repository == repo {
					got = append(got, formatPlace(f.FileName, m.Range.Start.LineNumber, m.Range.Start.Column, m.Range.End.Column-m.Range.Start.Column))
				}
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s of %s at %s: %v, the index has %v", operation, at.word, formatPlace(at.file, at.line, at.column, at.columns), got, want)
		}
		if len(want) > 0 {
			compared[operation]++
		}
	}
	if i, ok := x.information[at.symbol]; ok {
		var hover wire.Hover
		c.post(t, "/api/hover", request, &hover)
		if hover.Precise != (i.Signature+i.Documentation != "") || hover.Signature != i.Signature || hover.Documentation != i.Documentation {
			t.Errorf("hover of %s: %+v, the index has %+v", at.word, hover, i)
		}
		compared["hover"]++
	}
}
