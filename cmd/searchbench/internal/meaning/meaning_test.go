package meaning

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fixed is an oracle with one answer.
type fixed []Place

func (f fixed) Define(context.Context, []byte, Place) ([]Place, error) { return f, nil }
func (fixed) Close() error                                             { return nil }

func TestDraw(t *testing.T) {
	dir := t.TempDir()
	text := "package p\n\nfunc f(boil int) int {\n\treturn boil\n}\n\nvar g = f(1)\n"
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Source{Name: "s", Dir: dir}
	cases, err := Draw(t.Context(), s, "Go", fixed{{Path: "a.go", Line: 3}}, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, c := range cases {
		got[c.Name] = c.Local
		if c.At.Line == 3 {
			t.Errorf("%s: the definition itself is no case", c.Name)
		}
	}
	if local, ok := got["boil"]; !ok || !local {
		t.Errorf("%v: want boil, which is local", got)
	}
	if local, ok := got["f"]; !ok || local {
		t.Errorf("%v: want f, which is not local", got)
	}
	runs := []Run{{Name: "one"}, {Name: "other"}}
	for i := range runs {
		runs[i], err = Measure(t.Context(), Finder{runs[i].Name, func(_ context.Context, c *Case) (Place, bool, error) {
			return Place{Path: "a.go", Line: 3}, i == 0 || c.Local, nil
		}}, cases)
		if err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	if err := Report(&b, cases, runs); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "| Go | 2 | 1 | 1.000 | 1.000 | 1.000 | 0.500 | 1.000 | 0.000 |") {
		t.Error(b.String())
	}
	var misses bytes.Buffer
	WriteMisses(&misses, cases, runs[1])
	if !strings.Contains(misses.String(), "want a.go:3") || strings.Contains(misses.String(), "boil") && !strings.Contains(misses.String(), "func f(boil") {
		t.Error(misses.String())
	}
}

func TestUTF16Column(t *testing.T) {
	if got := utf16Column([]byte("x\nç😀 boil\n"), Place{Line: 2, Column: 4}); got != 4 {
		t.Errorf("%d, want 4", got)
	}
}
