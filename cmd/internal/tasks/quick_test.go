package main

import (
	"os"
	"slices"
	"testing"
)

// TestQuick changes files of a module and compares the packages that are tested.
func TestQuick(t *testing.T) {
	packages := []goPackage{
		{Dir: "/m/code", ImportPath: "q/code"},
		{Dir: "/m/search", ImportPath: "q/search", Imports: []string{"q/code"}},
		{Dir: "/m/web", ImportPath: "q/web", Imports: []string{"q/search"}},
		{Dir: "/m/lint", ImportPath: "q/lint", XTestImports: []string{"q/web"}},
	}
	for i := range packages {
		packages[i].Module.Dir = "/m"
	}
	for _, c := range []struct{ files, want []string }{
		{nil, nil},
		{[]string{"README.md"}, nil},
		{[]string{"code/a.go"}, []string{"q/code", "q/search"}},
		{[]string{"search/testdata/a/b.txt"}, []string{"q/search", "q/web"}},
		{[]string{"web/a.css", "web/b.go"}, []string{"q/web", "q/lint"}},
		{[]string{"go.sum"}, []string{"q/code", "q/search", "q/web", "q/lint"}},
	} {
		if got := selectAffected(packages, c.files); !slices.Equal(got, c.want) {
			t.Errorf("after a change of %q: %q, want %q", c.files, got, c.want)
		}
	}
}

// TestListChangedFiles checks that commits since the base, changes and new files count, and
// changes of the base since then do not.
func TestListChangedFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		if _, err := runOutput(t.Context(), ".", "git", append([]string{"-c", "user.name=q", "-c", "user.email=q@localhost"}, args...)...); err != nil {
			t.Fatal(err)
		}
	}
	write("a", "1")
	write("b", "1")
	if err := commitTree(t.Context(), ".", ".", "first"); err != nil {
		t.Fatal(err)
	}
	git("checkout", "-q", "-b", "work")
	write("c", "committed")
	git("add", "c")
	git("commit", "-q", "-m", "second")
	git("checkout", "-q", "main")
	write("d", "only on main")
	git("add", "d")
	git("commit", "-q", "-m", "third")
	git("checkout", "-q", "work")
	write("a", "changed")
	write("e", "new")
	for ref, want := range map[string][]string{"main": {"a", "c", "e"}, "nosuchref": {"a", "e"}} {
		if got, err := listChangedFiles(t.Context(), ref); err != nil || !slices.Equal(got, want) {
			t.Errorf("changed since %s: %q, %v; want %q", ref, got, err, want)
		}
	}
}
