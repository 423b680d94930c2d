package random

import (
	"errors"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"

	"github.com/quarrysearch/quarry/query/syntax"
)

// trees are folders of this repository.
func trees() map[string]string {
	root := filepath.Join("..", "..", "..", "..", "..")
	return map[string]string{"query": filepath.Join(root, "query"), "pipeline": filepath.Join(root, "pipeline"), "schemas": filepath.Join(root, "schemas")}
}

func draw(t *testing.T, seed uint64, n int) []Query {
	t.Helper()
	s, err := ReadSample(trees(), seed)
	if err != nil {
		t.Fatal(err)
	}
	queries, err := s.Draw(seed, n)
	if err != nil {
		t.Fatal(err)
	}
	return queries
}

// TestDraw checks that every family, filter and limit is drawn, that all queries are
// different, and that Quarry can read each of them.
func TestDraw(t *testing.T) {
	const n = 1400
	queries := draw(t, 7, n)
	drawn, filters, limits, texts := map[string]int{}, map[string]int{}, map[int]int{}, map[string]bool{}
	for _, q := range queries {
		drawn[q.Class]++
		filters[q.Filter]++
		limits[q.Limit]++
		if texts[q.Text] {
			t.Errorf("%q is drawn twice", q.Text)
		}
		texts[q.Text] = true
		text, _ := q.Quarry()
		if _, err := syntax.Parse(text, syntax.Options{Regexp: true}); err != nil {
			t.Errorf("%s: Quarry cannot read %q: %v", q.Class, q.Text, err)
		}
		if plain, ok := q.Plain(); ok {
			for _, p := range plain.Patterns {
				if _, err := regexp.Compile(p); err != nil {
					t.Errorf("%s: %q: %v", q.Class, q.Text, err)
				}
			}
		}
	}
	for _, f := range families {
		if drawn[f.name] < n/len(families)*9/10 {
			t.Errorf("%d queries of the family %q, want at least %d", drawn[f.name], f.name, n/len(families)*9/10)
		}
	}
	for _, kind := range []string{NoFilter, RepositoryFilter, FileFilter, FolderFilter, LanguageFilter, NegatedFilter} {
		if filters[kind] < 10 {
			t.Errorf("%d queries with the filter %s, want at least 10", filters[kind], kind)
		}
	}
	for _, limit := range Limits {
		if limits[limit] < n/10 {
			t.Errorf("%d queries with the limit %d, want at least %d", limits[limit], limit, n/10)
		}
	}
}

func TestDrawIsReproducible(t *testing.T) {
	first, again, other := draw(t, 1, 100), draw(t, 1, 100), draw(t, 2, 100)
	if !reflect.DeepEqual(first, again) {
		t.Errorf("the seed 1 drew %v and then %v", first, again)
	}
	same := map[string]bool{}
	for _, q := range first {
		same[q.Text] = true
	}
	repeated := 0
	for _, q := range other {
		if same[q.Text] {
			repeated++
		}
	}
	if repeated > 20 {
		t.Errorf("%d of 100 queries of the seed 2 are those of the seed 1", repeated)
	}
}

func TestReadSampleWithoutText(t *testing.T) {
	if _, err := ReadSample(map[string]string{"empty": t.TempDir()}, 1); !errors.Is(err, ErrNoText) {
		t.Errorf("an empty tree: %v, want %v", err, ErrNoText)
	}
}

func TestQuoteToken(t *testing.T) {
	for token, want := range map[string]string{
		"word":  "word",
		"or":    `"or"`,
		"-x":    `"-x"`,
		`a\(b`:  `"a\\(b"`,
		`"x y"`: `"\"x y\""`,
		"file:": `"file:"`,
	} {
		if got := quoteToken(token); got != want {
			t.Errorf("%s: %s, want %s", token, got, want)
		}
	}
}
