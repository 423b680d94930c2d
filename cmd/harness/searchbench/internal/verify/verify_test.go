package verify

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/suite"
)

// answers is a Searcher with fixed answers.
type answers struct{ places map[engine.Place]int }

func (a answers) Places(context.Context, string) (map[engine.Place]int, engine.Answer, error) {
	return a.places, engine.Answer{Matches: sumCounts(a.places), Files: len(a.places)}, nil
}

func (a answers) Search(context.Context, engine.Request) (engine.Answer, error) {
	return engine.Answer{Matches: sumCounts(a.places), Files: len(a.places)}, nil
}

func (a answers) Skipped(context.Context, string) (map[string]string, error) {
	return map[string]string{"bin": "binary"}, nil
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
		{"binary is skipped", "needle", map[engine.Place]int{at("a"): 2, at("latin"): 1}, 0, "skipped as binary"},
		{"a match is missing", "needle", map[engine.Place]int{at("a"): 1, at("latin"): 1}, 1, "skipped as binary"},
		{"a file too many", "needle", map[engine.Place]int{at("a"): 2, at("latin"): 1, at("none"): 1}, 1, "skipped as binary"},
		{"decoded letters", "n[^a-z]edle", map[engine.Place]int{at("latin"): 1}, 0, "not UTF-8"},
		{"no excuse for ASCII", "needle", map[engine.Place]int{at("a"): 2}, 1, "skipped as binary"},
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

// tree is a Searcher over checkouts that finds every file once, and lists at most two
// files.
type tree struct {
	t     *testing.T
	files []engine.Place
	asked map[string]int
}

var filters = regexp.MustCompile(`repo:"\^(.*?)\$" file:"\^(.*?)(\[\^/\]\*\$)?"`)

func (s *tree) Places(_ context.Context, text string) (map[engine.Place]int, engine.Answer, error) {
	found := map[engine.Place]int{}
	p := part{}
	if m := filters.FindStringSubmatch(text); m != nil {
		p = part{repository: m[1], folder: m[2], flat: m[3] != ""}
	}
	for _, f := range s.files {
		if p.containsPlace(f) {
			found[f] = 1
		}
	}
	s.asked[text]++
	answer := engine.Answer{Matches: sumCounts(found), Files: len(found)}
	if len(found) > 2 {
		answer.Incomplete = "byte limit"
	}
	return found, answer, nil
}

func (s *tree) Search(context.Context, engine.Request) (engine.Answer, error) {
	return engine.Answer{Matches: len(s.files), Files: len(s.files)}, nil
}

func (s *tree) Skipped(context.Context, string) (map[string]string, error) { return nil, nil }

// TestAnswersAreListedInParts checks that an answer that cannot be listed in one request
// is listed in parts that cover everything.
func TestAnswersAreListedInParts(t *testing.T) {
	s := &tree{t: t, asked: map[string]int{}}
	c := &Checker{Quarry: s, Trees: map[string]string{}}
	want := map[engine.Place]int{}
	for _, path := range []string{"r/a", "r/x/b", "r/x/c", "r/x/y/d", "r/x/y/e", "q/a", "q/z/b"} {
		repository, rest, _ := strings.Cut(path, "/")
		if c.Trees[repository] == "" {
			c.Trees[repository] = t.TempDir()
		}
		name := filepath.Join(c.Trees[repository], rest)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte("x"), 0o644)); err != nil {
			t.Fatal(err)
		}
		s.files = append(s.files, engine.Place{Repository: repository, Path: rest})
		want[s.files[len(s.files)-1]] = 1
	}
	o := Outcome{Excused: map[string]int{}}
	got, err := c.listMatches(t.Context(), &o, "x", []string{"q", "r"}, want)
	if err != nil || o.Failed > 0 || !maps.Equal(got, want) {
		t.Fatalf("got %v, %v, %s", got, err, o)
	}
	if want := 7; len(s.asked) != want { // all, q, r, r flat, r/x, r/x flat, r/x/y
		t.Errorf("%d requests, want %d: %v", len(s.asked), want, s.asked)
	}
}
