package repolint

import (
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

func TestTree(t *testing.T) {
	tree, err := Load(t.Context(), "../../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Packages) < 5 {
		t.Fatalf("go list sees %d packages: is this the root of the tree?", len(tree.Packages))
	}
	fresh, stale := Compare(tree.Check(), readViolations(t))
	for _, f := range fresh {
		t.Error(f)
	}
	for _, s := range stale {
		t.Errorf("testdata/sins.txt: %q is no longer so: take the line out", s)
	}
}

func readViolations(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/sins.txt")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// parseTree returns a tree of one package with one file.
func parseTree(t *testing.T, path, name, source string) *Tree {
	t.Helper()
	tree := &Tree{fset: token.NewFileSet()}
	syntax, err := parser.ParseFile(tree.fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	p := &Package{Path: path}
	for _, spec := range syntax.Imports {
		p.Imports = append(p.Imports, strings.Trim(spec.Path.Value, `"`))
	}
	f := &File{Name: path + "/" + name, Lines: strings.Count(source, "\n"), Syntax: syntax}
	if strings.HasSuffix(name, "_test.go") {
		p.TestFiles, p.TestImports, p.Imports = []*File{f}, p.Imports, nil
	} else {
		p.Files = []*File{f}
	}
	tree.Packages = []*Package{p}
	return tree
}

func TestRules(t *testing.T) {
	const here = Module + "/"
	for _, c := range []struct {
		name, path, file, source string
		want                     string // rule and part of the message; empty for no finding
	}{
		{"ingest imports pipeline", "ingest/webhook", "doc.go", "// Package x.\npackage x\nimport _ \"" + here + "pipeline/worker\"\n", "imports may not import pipeline/worker"},
		{"pipeline imports a format", "pipeline/indexer", "doc.go", "// Package x.\npackage x\nimport _ \"" + here + "projections/segment\"\n", ""},
		{"pipeline imports places", "pipeline/indexer", "doc.go", "// Package x.\npackage x\nimport _ \"" + here + "projections/places\"\n", "imports may not import projections/places"},
		{"search imports api", "query/search", "doc.go", "// Package x.\npackage x\nimport _ \"" + here + "query/api\"\n", "imports may not import query/api"},
		{"code imports event", "schemas/code", "doc.go", "// Package x.\npackage x\nimport _ \"" + here + "schemas/event\"\n", "imports may not import schemas/event"},
		{"somebody imports cmd", "query/api", "doc.go", "// Package x.\npackage x\nimport _ \"" + here + "cmd/internal/boot\"\n", "imports may not import cmd/internal/boot"},
		{"cmd imports all", "cmd/quarry", "doc.go", "// Package x.\npackage x\nimport _ \"" + here + "query/api\"\n", ""},
		{"a parent imports its child", "query/search", "doc.go", "// Package x.\npackage x\nimport _ \"" + here + "query/search/internal/rank\"\n", ""},
		{"a separate folder", "util", "doc.go", "// Package x.\npackage x\n", "imports lies in none"},
		{"pebble in search", "query/search", "doc.go", "// Package x.\npackage x\nimport _ \"github.com/cockroachdb/pebble/v2\"\n", "quarantine may not import github.com/cockroachdb/pebble"},
		{"pebble in store", "projections/store", "doc.go", "// Package x.\npackage x\nimport _ \"github.com/cockroachdb/pebble/v2/vfs\"\n", ""},
		{"metrics outside metrics.go", "query/api", "doc.go", "// Package x.\npackage x\nimport \"github.com/prometheus/client_golang/prometheus\"\nvar c = prometheus.NewCounter\n", "quarantine"},
		{"registerer passed on", "query/api", "doc.go", "// Package x.\npackage x\nimport \"github.com/prometheus/client_golang/prometheus\"\ntype o struct{ r prometheus.Registerer }\n", ""},
		{"no doc.go", "query/api", "api.go", "package x\n", "doc has no doc.go"},
		{"one file with the comment", "query/api", "api.go", "// Package x.\npackage x\n", ""},
		{"undocumented function", "query/api", "doc.go", "// Package x.\npackage x\nfunc F() {}\n", "doc F has no comment"},
		{"undocumented method", "query/api", "doc.go", "// Package x.\npackage x\n// T is.\ntype T struct{}\nfunc (t *T) M() {}\n", "doc M has no comment"},
		{"method of an unexported type", "query/api", "doc.go", "// Package x.\npackage x\ntype t struct{}\nfunc (t) M() {}\n", ""},
		{"undocumented constant", "query/api", "doc.go", "// Package x.\npackage x\nconst A = 1\n", "doc A has no comment"},
		{"constants with comments", "query/api", "doc.go", "// Package x.\npackage x\nconst (\n A = 1 // one\n // B is.\n B = 2\n)\n", ""},
		{"init", "query/api", "doc.go", "// Package x.\npackage x\nfunc init() {}\n", "globals has an init"},
		{"changed global", "query/api", "doc.go", "// Package x.\npackage x\nvar n int\nfunc f() { n++ }\n", "globals f changes the package variable n"},
		{"changed element", "query/api", "doc.go", "// Package x.\npackage x\nvar m = map[int]int{}\nfunc f() { m[1] = 2 }\n", "globals f changes the package variable m"},
		{"hidden global", "query/api", "doc.go", "// Package x.\npackage x\nvar n int\nfunc f() { n := 0; n++; _ = n }\n", ""},
		{"sleep in a test", "query/api", "x_test.go", "package x\nimport \"time\"\nfunc f() { time.Sleep(1) }\n", "sleep calls time.Sleep"},
		{"bound on real time", "query/api", "x_test.go", "package x\nimport (\n\"testing\"\n\"time\"\n)\nfunc f(t *testing.T, s time.Time) { if time.Since(s).Seconds() > 1 { t.Error() } }\n", "realtime f compares time.Since"},
		{"bound on a measured time", "query/api", "x_test.go", "package x\nimport (\n\"testing\"\n\"time\"\n)\nfunc f(t *testing.T, s time.Time) { took := time.Since(s); switch { case t == nil || 5 < took: t.Fatalf(took.String()) } }\n", "realtime f compares time.Since"},
		{"bound in a bubble", "query/api", "x_test.go", "package x\nimport (\n\"testing\"\n\"testing/synctest\"\n\"time\"\n)\nfunc f(t *testing.T, s time.Time) { synctest.Wait(); if time.Since(s) > 1 { t.Error() } }\n", ""},
		{"measured time that is printed", "query/api", "x_test.go", "package x\nimport (\n\"testing\"\n\"time\"\n)\nfunc f(t *testing.T, s time.Time) { took := time.Since(s); if s.IsZero() { t.Error(took) } }\n", ""},
		{"loop that ends after a time", "query/api", "x_test.go", "package x\nimport (\n\"testing\"\n\"time\"\n)\nfunc f(t *testing.T, s time.Time) { for time.Since(s) < time.Hour { if t.Failed() { t.Error() } } }\n", ""},
		{"skip", "query/api", "x_test.go", "package x\nimport \"testing\"\nfunc f(t *testing.T) { if t == nil { t.Skip() } }\n", "skips f skips a test in CI"},
		{"skip of a subtest", "query/api", "x_test.go", "package x\nimport \"testing\"\nfunc f(w *world) { w.t.Run(\"\", func(t *testing.T) { t.Skipf(\"\") }) }\n", "skips f skips a test in CI"},
		{"skip of a world", "query/api", "x_test.go", "package x\nimport \"testing\"\nfunc f(w *world, _ *testing.T) { w.t.Skip() }\n", "skips f skips a test in CI"},
		{"method of another type", "query/api", "x_test.go", "package x\nimport \"testing\"\nfunc f(w *world, _ *testing.T) { w.queue.Skip() }\n", ""},
		{"skip with -short", "query/api", "x_test.go", "package x\nimport \"testing\"\nfunc f(t *testing.T) { if testing.Short() { t.Skip() } }\n", ""},
		{"skip without a flag", "query/api", "x_test.go", "package x\nimport (\n\"flag\"\n\"testing\"\n)\nvar n = flag.Int(\"n\", 0, \"\")\nfunc f(t *testing.T) { if *n == 0 { t.Skip() } }\n", ""},
		{"skip without a value", "query/api", "x_test.go", "package x\nimport \"testing\"\nvar n = new(int)\nfunc f(t *testing.T, m *int) { if *n == 0 || *m == 0 { t.Skip() } }\n", "skips f skips a test in CI"},
		{"skip without a program", "query/api", "x_test.go", "package x\nimport (\n\"os\"\n\"testing\"\n)\nfunc f(t *testing.T) { if os.Getenv(\"QUARRY_REQUIRE_ALL\") != \"1\" { t.SkipNow() } }\n", ""},
		{"long file", "query/api", "doc.go", "// Package x.\npackage x\n" + strings.Repeat("\n", MaxFileLines), "length has more than"},
		{"participle", "query/api", "doc.go", "// Package x.\npackage x\nfunc judged() {}\n", "names judged is no verb"},
		{"preposition", "query/api", "doc.go", "// Package x.\npackage x\ntype t int\nfunc (t) within() {}\n", "names within is no verb"},
		{"noun that ends like a participle", "query/api", "doc.go", "// Package x.\npackage x\nfunc seed() {}\n", ""},
		{"one-word names", "query/api", "doc.go", "// Package x.\npackage x\n" + declareFunctions(3, "word", 9, "readWord"), "names more than 15 %"},
		{"few one-word names", "query/api", "doc.go", "// Package x.\npackage x\n" + declareFunctions(2, "word", 12, "readWord"), ""},
		{"one-word names of a tree", "query/api", "doc.go", "// Package x.\npackage x\n" + declareFunctions(6, "word", 200, "readWord"), "names more than 2 %"},
		{"few one-word names of a tree", "query/api", "doc.go", "// Package x.\npackage x\n" + declareFunctions(4, "word", 200, "readWord"), ""},
		{"one-word names that a receiver completes", "query/api", "doc.go", "// Package x.\npackage x\ntype t int\nfunc (t) close() {}\nfunc (t) next() {}\n" + declareFunctions(0, "", 10, "readWord"), ""},
		{"odd word", "query/api", "doc.go", "// Package x is told.\npackage x\n", "words a comment says told"},
		{"odd word in a test", "query/api", "x_test.go", "package x\n// Nobody asks.\n", "words a comment says nobody"},
		{"long generated file", "query/api", "doc.go", "// Code generated by hand. DO NOT EDIT.\n\n// Package x.\npackage x\n" + strings.Repeat("\n", MaxFileLines), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := parseTree(t, c.path, c.file, c.source).Check()
			if c.want == "" {
				if len(found) > 0 {
					t.Errorf("found %v, want nothing", found)
				}
				return
			}
			for _, f := range found {
				if strings.HasPrefix(f.Rule+" "+f.What, c.want) {
					return
				}
			}
			t.Errorf("found %v, want %q", found, c.want)
		})
	}
}

// declareFunctions declares functions with one-word names and with longer names.
func declareFunctions(short int, word string, long int, words string) string {
	var b strings.Builder
	for i := range short {
		b.WriteString("func " + word + strings.Repeat("x", i) + "() {}\n")
	}
	for i := range long {
		b.WriteString("func " + words + strings.Repeat("x", i) + "() {}\n")
	}
	return b.String()
}

func TestCompareOnlyShrinks(t *testing.T) {
	old := Finding{Rule: "length", Where: "a/b.go", What: "has more than 500 lines"}
	added := Finding{Rule: "length", Where: "a/c.go", What: "has more than 500 lines"}
	fresh, stale := Compare([]Finding{old, added}, []string{old.Sin(), "sleep gone_test.go calls time.Sleep"})
	if len(fresh) != 1 || fresh[0] != added {
		t.Errorf("fresh = %v", fresh)
	}
	if len(stale) != 1 || !strings.HasPrefix(stale[0], "sleep gone_test.go") {
		t.Errorf("stale = %q", stale)
	}
}
