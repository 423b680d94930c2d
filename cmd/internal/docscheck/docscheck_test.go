package docscheck

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

// readPages reads every Markdown page of the tree, except for fixtures.
func readPages(t *testing.T) map[string]*Page {
	t.Helper()
	all := map[string]*Page{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch base := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (base == "testdata" || (strings.HasPrefix(base, ".") && name != ".")):
			return filepath.SkipDir
		case !strings.HasSuffix(base, ".md"):
			return nil
		}
		p, err := Read(root, filepath.ToSlash(name))
		all[filepath.ToSlash(name)] = p
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestLinks(t *testing.T) {
	all := readPages(t)
	if all["README.md"] == nil {
		t.Fatal("README.md was not found: is this the root of the tree?")
	}
	for _, p := range all {
		for _, broken := range p.BrokenLinks(root, all) {
			t.Error(broken)
		}
	}
}

// TestProseIsWrapped reads every page but those without prose: an entry of the changelog is
// a line, and the pages of commands and metrics are generated.
func TestProseIsWrapped(t *testing.T) {
	exempt := []string{"CHANGELOG.md", "docs/cli.md", "docs/metrics.md"}
	for name, p := range readPages(t) {
		if slices.Contains(exempt, name) {
			continue
		}
		for _, long := range p.LongLines() {
			t.Error(long)
		}
	}
}

func TestLongLines(t *testing.T) {
	words := strings.Repeat("word ", 21)
	for text, want := range map[string]int{
		words: 1, "- " + words: 1, "one line\n" + words + "\n": 1,
		words[:100]: 0, "| " + words + "|": 0, "## " + words: 0, "    " + words: 0, "```\n" + words + "\n```\n": 0,
		"- `" + words + "`": 0, "- [" + strings.Repeat("x", 120) + "](y.md)": 0,
		"<!-- settings: written by make generate -->\n" + words + "\n<!-- end of settings -->\n": 0,
		"<!-- settings: written by make generate -->\n<!-- end of settings -->\n" + words:        1,
	} {
		if got := Parse("page.md", text).LongLines(); len(got) != want {
			t.Errorf("%q: %d long lines %q, want %d", text, len(got), got, want)
		}
	}
}

func TestMakeTargets(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range readPages(t) {
		for _, target := range p.Targets() {
			if !strings.Contains("\n"+string(makefile), "\n"+target+":") {
				t.Errorf("%s speaks of make %s, which the Makefile does not know", name, target)
			}
		}
	}
}

func TestPaths(t *testing.T) {
	for _, name := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"} {
		p, err := Read(root, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range p.Paths() {
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("%s speaks of %s, which does not exist", name, path)
			}
		}
	}
}

// TestArchitectureIsComplete checks that ARCHITECTURE.md names every package, or the
// package whose helper it is.
func TestArchitectureIsComplete(t *testing.T) {
	p, err := Read(root, "ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.ImportPath}}", "./...")
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	named := p.Paths()
	for path := range strings.FieldsSeq(string(out)) {
		path = strings.TrimPrefix(path, "github.com/quarrysearch/quarry/")
		parent, _, helper := strings.Cut(path, "/internal/")
		if !slices.Contains(named, path) && !(helper && parent != "cmd") {
			t.Errorf("ARCHITECTURE.md does not name %s", path)
		}
	}
}

func TestParse(t *testing.T) {
	p := Parse("docs/a.md", "# The Title, here\n\nSee [b](b.md#part-two) and `make x` in `cmd/quarry`.\n\n```\nmake y\n# no heading\n```\n")
	if !p.headings["the-title-here"] || p.headings["no-heading"] {
		t.Errorf("headings = %v", p.headings)
	}
	if got := strings.Join(p.Targets(), " "); got != "x y" {
		t.Errorf("targets = %q, want \"x y\"", got)
	}
	if got := strings.Join(p.Paths(), " "); got != "cmd/quarry" {
		t.Errorf("paths = %q, want \"cmd/quarry\"", got)
	}
	dir := t.TempDir()
	all := map[string]*Page{"docs/a.md": p}
	if broken := p.BrokenLinks(dir, all); len(broken) != 1 {
		t.Errorf("link to a missing page: %q", broken)
	}
	if err := os.MkdirAll(filepath.Join(dir, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "docs/b.md"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	all["docs/b.md"] = Parse("docs/b.md", "# Part one\n")
	if broken := p.BrokenLinks(dir, all); len(broken) != 1 || !strings.Contains(broken[0], "#part-two") {
		t.Errorf("link to a missing heading: %q", broken)
	}
	all["docs/b.md"] = Parse("docs/b.md", "# Part two\n")
	if broken := p.BrokenLinks(dir, all); len(broken) != 0 {
		t.Errorf("link that holds: %q", broken)
	}
}

// TestDependencies checks that each module that our code requires has a documented
// reason, and each reason a module.
func TestDependencies(t *testing.T) {
	module, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	var required []string
	for line := range strings.Lines(string(module)) {
		fields := strings.Fields(line)
		if len(fields) == 2 && strings.Contains(fields[0], ".") && strings.HasPrefix(fields[1], "v") {
			required = append(required, fields[0])
		}
	}
	page, err := Read(root, "docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range required {
		if !strings.Contains(page.Text, "`"+path+"`") {
			t.Errorf("docs/dependencies.md has no reason for %s", path)
		}
	}
	for line := range strings.Lines(page.Text) {
		path, isRow := strings.CutPrefix(line, "| `")
		path, _, _ = strings.Cut(path, "`")
		if isRow && !strings.Contains(string(module), path+" v") {
			t.Errorf("docs/dependencies.md has a reason for %s, which nothing requires", path)
		}
	}
}
