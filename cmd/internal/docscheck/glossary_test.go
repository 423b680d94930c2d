package docscheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGlossaryNames checks that every Go name and metric in the glossary exists, and that
// every term is listed once.
func TestGlossaryNames(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := os.ReadFile(filepath.Join(root, "docs/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("^\\| ([^|]+) \\| [^|]+ \\| (?:`([^`]+)`)? ?\\| (?:`([^`]+)`)? ?\\|$")
	terms := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| Term") || strings.HasPrefix(line, "| ---") {
			continue
		}
		cells := row.FindStringSubmatch(strings.TrimSpace(line))
		if cells == nil {
			t.Errorf("not a row of four cells: %s", line)
			continue
		}
		term, name, metric := cells[1], cells[2], cells[3]
		if terms[term] {
			t.Errorf("%s is explained twice", term)
		}
		terms[term] = true
		if name != "" && !declares(t, name) {
			t.Errorf("%s: %s is not in the tree", term, name)
		}
		if metric != "" && !strings.Contains(string(metrics), "`"+metric+"`") {
			t.Errorf("%s: docs/metrics.md has no %s", term, metric)
		}
	}
	if len(terms) < 60 {
		t.Errorf("the glossary has %d terms: was a table not read?", len(terms))
	}
}

// declares reports whether name, "directory" or "directory.Name", exists in the tree.
func declares(t *testing.T, name string) bool {
	t.Helper()
	dir, object, _ := strings.Cut(name, ".")
	files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil || len(files) == 0 {
		return false
	}
	if object == "" {
		return true
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && declaresName(g, object) {
				return true
			}
		}
	}
	return false
}

func declaresName(g *ast.GenDecl, name string) bool {
	for _, spec := range g.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.Name == name {
				return true
			}
		case *ast.ValueSpec:
			for _, n := range s.Names {
				if n.Name == name {
					return true
				}
			}
		}
	}
	return false
}
