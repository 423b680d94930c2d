package assist

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestUnfinishedPredicate checks that a predicate whose search ends early makes the answer
// not exhaustive, and that its negation selects no repository that may have the text.
func TestUnfinishedPredicate(t *testing.T) {
	m := &searchtest.Model{}
	for i := range 4 {
		m.AddScript(t, fmt.Sprintf("host/%d a.txt Text %s x_123456789", i, strings.Repeat("filler_12345678 ", 1<<16)))
	}
	const predicate = `repo:has.content([a-z]_\d{9})`
	for query, want := range map[string]int{predicate + " type:repo": 4, "-" + predicate + " type:repo": 0, "-" + predicate + " file:a": 0} {
		whole, err := newSearcher(search.Options{}).Search(t.Context(), m, search.Request{Query: searchtest.Parse(t, query), Matches: 10})
		if err != nil || whole.Stats.Matches != want || !whole.Exhaustive {
			t.Errorf("%s: %d matches, exhaustive %t, want %d: %v", query, whole.Stats.Matches, whole.Exhaustive, want, err)
		}
		cut, err := newSearcher(search.Options{MaxScanBytes: 1 << 20}).Search(t.Context(), m, search.Request{Query: searchtest.Parse(t, query), Matches: 10})
		if err != nil || cut.Stats.Matches > want || cut.Exhaustive || cut.Stopped != search.StopScanLimit {
			t.Errorf("%s with little text: %d matches, exhaustive %t, stopped by %q: %v", query, cut.Stats.Matches, cut.Exhaustive, cut.Stopped, err)
		}
	}
}

// TestPredicateWithinTimeLimit checks that predicates are part of the time of a search, which may
// be one for another predicate.
func TestPredicateWithinTimeLimit(t *testing.T) {
	m := &searchtest.Model{}
	m.AddScript(t, "host/a a.go Go kmalloc")
	for limit, want := range map[time.Duration]search.StopReason{0: search.StopNone, 1: search.StopTimeLimit} {
		a := newSearcher(search.Options{}).newAnswerer(m)
		r, _, err := a.resolvePredicates(t.Context(), search.Request{Query: searchtest.Parse(t, "repo:has.content(kmalloc) a"), Matches: 10, TimeLimit: limit})
		if err != nil || r.Incomplete != want {
			t.Errorf("with a limit of %v: stopped by %q, want %q: %v", limit, r.Incomplete, want, err)
		}
	}
}

// TestPredicateCosts checks that an answer counts the work of its predicates, once for equal
// ones, and explains them.
func TestPredicateCosts(t *testing.T) {
	m := &searchtest.Model{}
	m.AddScript(t, "host/a go.mod Text require pebble\nhost/a a.go Go kmalloc\nhost/b b.go Go kmalloc pebble")
	s, costs := newSearcher(search.Options{}), map[string]int{}
	for _, query := range []string{"kmalloc", "repo:has.content(pebble) kmalloc", "repo:has.content(pebble) kmalloc -(x repo:has.content(pebble))"} {
		r, err := s.Search(t.Context(), m, search.Request{Query: searchtest.Parse(t, query), Matches: 10, Explain: true})
		if err != nil || r.Stats.Files != 2 {
			t.Fatalf("%s: %d files: %v", query, r.Stats.Files, err)
		}
		if probes := strings.Count(query, "pebble"); min(probes, 1) != len(r.Explain.Probes) {
			t.Errorf("%s: explains %v", query, r.Explain.Probes)
		}
		costs[query] = r.Stats.FilesLoaded
	}
	if costs["kmalloc"] != 2 || costs["repo:has.content(pebble) kmalloc"] != 4 {
		t.Errorf("files loaded: %v", costs)
	}
}

// TestPredicateOfHiddenPlace checks that a path of a hidden repository does not count for a
// visible one that has the same document.
func TestPredicateOfHiddenPlace(t *testing.T) {
	m := &searchtest.Model{Refs: []code.Ref{"refs/heads/main", "refs/heads/dev"}}
	for i := range 2 {
		m.Repos = append(m.Repos, &corpus.Repository{Repository: code.Repository{ID: code.RepositoryID(i + 1), Name: fmt.Sprint("host/", i), DefaultBranch: "main"}})
	}
	d := &searchtest.ModelDocument{Text: []byte("shared text"), Lang: "C"}
	m.Documents = []*searchtest.ModelDocument{d}
	m.Places = []searchtest.ModelPlace{
		{Repo: 0, Path: "seen.c", Ref: "refs/heads/main", Doc: d}, {Repo: 0, Path: "branch.c", Ref: "refs/heads/dev", Doc: d}, {Repo: 1, Path: "hidden.c", Ref: "refs/heads/main", Doc: d},
	}
	m.BuildIndex(t, 1)
	view := corpus.NewScreen(corpus.ScreenOptions{}).Hide(m, 1, func(r *code.Repository) bool { return r.ID == 1 })
	for query, want := range map[string]int{
		"repo:has.path(hidden) shared": 0, "-repo:has.path(hidden) shared": 1, "repo:has.path(hidden) shared rev:*": 0, "repo:has.path(seen) shared": 1,
		"repo:has.path(branch) shared": 0, "repo:has.path(branch) shared rev:*": 2, "repo:has.file(path:seen content:shared) type:repo": 1, "repo:has.content(shared) type:repo": 1,
	} {
		r, err := newSearcher(search.Options{}).Search(t.Context(), view, search.Request{Query: searchtest.Parse(t, query), Matches: 10})
		if err != nil || r.Stats.Matches != want {
			t.Errorf("%s: %d matches, want %d: %v", query, r.Stats.Matches, want, err)
		}
	}
}
