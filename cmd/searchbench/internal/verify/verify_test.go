package verify

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

// answers is a Searcher that says what it was told to.
type answers struct{ places map[engine.Place]int }

func (a answers) Places(context.Context, string) (map[engine.Place]int, engine.Answer, error) {
	return a.places, engine.Answer{Matches: sum(a.places), Files: len(a.places)}, nil
}

func (a answers) Search(context.Context, engine.Request) (engine.Answer, error) {
	return engine.Answer{Matches: sum(a.places), Files: len(a.places)}, nil
}

func TestCheck(t *testing.T) {
	rg, err := engine.OpenRipgrep()
	if err != nil {
		if os.Getenv("QUARRY_REQUIRE_ALL") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	tree := filepath.Join(t.TempDir(), "r")
	if err := os.MkdirAll(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"a": "needle needle\n", "bin": "needle\x00", "latin": "n\xe9edle needle\n"} {
		if err := os.WriteFile(filepath.Join(tree, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	at := func(path string) engine.Place { return engine.Place{Repository: "r", Path: path} }
	for _, c := range []struct {
		name, query string
		quarry      map[engine.Place]int
		failed      int
		excused     string
	}{
		{"same", "needle", map[engine.Place]int{at("a"): 2, at("bin"): 1, at("latin"): 1}, 0, ""},
		{"binary is skipped", "needle", map[engine.Place]int{at("a"): 2, at("latin"): 1}, 0, "binary"},
		{"a match is missing", "needle", map[engine.Place]int{at("a"): 1, at("latin"): 1}, 1, "binary"},
		{"a file too many", "needle", map[engine.Place]int{at("a"): 2, at("latin"): 1, at("none"): 1}, 1, "binary"},
		{"decoded letters", "n[^a-z]edle", map[engine.Place]int{at("latin"): 1}, 0, "not UTF-8"},
		{"no excuse for ASCII", "needle", map[engine.Place]int{at("a"): 2}, 1, "binary"},
	} {
		checker := &Checker{Quarry: answers{c.quarry}, Ripgrep: rg, Trees: map[string]string{"r": tree}}
		o, ok, err := checker.Check(context.Background(), suite.Query{Name: c.name, Text: c.query})
		if !ok || err != nil {
			t.Fatalf("%s: %v %v", c.name, ok, err)
		}
		if o.Failed != c.failed || (c.excused != "") != (o.Excused[c.excused] == 1) {
			t.Errorf("%s: %s", c.name, o)
		}
	}
}
