package search

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/syntax"
)

// TestFacetsAreSearchesOfTheirOwn compares each count of a facet with the search that its
// filter produces, for a caller who sees everything and for one who does not.
func TestFacetsAreSearchesOfTheirOwn(t *testing.T) {
	s := newSearcher(Options{})
	counted := 0
	for seed := range uint64(6) {
		m := searchtest.NewModel(t, rand.New(rand.NewPCG(seed, 7)))
		h := searchtest.NewHiding(t, rand.New(rand.NewPCG(seed, 8)), m)
		views := map[string]corpus.View{"all": m, "some": corpus.NewScreen(corpus.ScreenOptions{}).Hide(h.Whole, seed, h.Visible)}
		for name, view := range views {
			for _, query := range []string{"if", "a", "type:symbol kmalloc", "rev:* if", "type:file c", "if or return"} {
				r, err := s.Search(t.Context(), view, Request{Query: searchtest.Parse(t, query), Matches: 1 << 20, Facets: true})
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range r.Facets {
					if !f.Complete {
						t.Errorf("%s: %s is not complete", query, f.Name)
					}
					for _, v := range f.Values {
						if f.Name == FacetBranch {
							continue // rev: selects all refs with that text in their names
						}
						narrowed, err := s.Search(t.Context(), view, Request{Query: searchtest.Parse(t, "("+query+") "+v.Filter), Matches: 1 << 20})
						if err != nil {
							t.Fatal(err)
						}
						if f.Name == FacetKind && narrowed.Stats.Files == v.Files {
							narrowed.Stats.Matches = v.Matches // several symbols on one line count as one match
						}
						if narrowed.Stats.Matches != v.Matches || narrowed.Stats.Files != v.Files {
							t.Errorf("seed %d, view %s, %s: %s %q has %d matches in %d files, the search %s finds %d in %d",
								seed, name, query, f.Name, v.Value, v.Matches, v.Files, v.Filter, narrowed.Stats.Matches, narrowed.Stats.Files)
						}
						counted++
					}
				}
			}
		}
	}
	if counted < 100 {
		t.Errorf("only %d counts were held against a search", counted)
	}
}

// TestFacetsHideRepositories compares the facets for a restricted caller with those of an
// index that lacks the hidden repositories, for whole answers and cut ones.
func TestFacetsHideRepositories(t *testing.T) {
	s, screen := newSearcher(Options{}), corpus.NewScreen(corpus.ScreenOptions{})
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 9))
		h := searchtest.NewHiding(t, rng, searchtest.NewModel(t, rng))
		for _, query := range []string{"a", "if", "rev:* a", "type:symbol a", "type:file c"} {
			for _, matches := range []int{1, 7, 1 << 20} {
				ask := func(v corpus.View) []Facet {
					r, err := s.Search(t.Context(), v, Request{Query: searchtest.Parse(t, query), Matches: matches, Facets: true})
					if err != nil {
						t.Fatal(err)
					}
					return r.Facets
				}
				got, want := ask(screen.Hide(h.Whole, seed*2, h.Visible)), ask(screen.Hide(h.Rest, seed*2+1, searchtest.AllowAll))
				if !reflect.DeepEqual(got, want) {
					t.Errorf("seed %d, %s, %d matches: %+v, without what is hidden %+v", seed, query, matches, got, want)
				}
			}
		}
	}
}

// TestFacetsOfAPartAreMarked checks that counts of a cut answer are marked as incomplete.
func TestFacetsOfAPartAreMarked(t *testing.T) {
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(1, 7)))
	r, err := newSearcher(Options{}).Search(t.Context(), m, Request{Query: searchtest.Parse(t, "a"), Matches: 1, Facets: true})
	if err != nil || r.Exhaustive || len(r.Facets) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, f := range r.Facets {
		if f.Complete {
			t.Errorf("%s of a part is complete", f.Name)
		}
	}
}

// TestFacetsAreBounded counts more values than the facet keeps.
func TestFacetsAreBounded(t *testing.T) {
	f := &facets{depth: maxFacetDepth}
	for i := range 3 * maxFacetKeys {
		f.addDirectory(fmt.Appendf(nil, "a/%d/%d/%s/x.go", i%7, i, strings.Repeat("deep/", 20)), 2)
	}
	f.addDirectory(append(bytes.Repeat([]byte("x"), 1<<12), "/y.go"...), 1)
	if n := len(f.directories.counts); n > maxFacetKeys {
		t.Errorf("%d directories are kept", n)
	}
	total := 0
	for directory, n := range f.directories.counts {
		total += n.matches
		if len(directory) > maxFacetKeyBytes {
			t.Errorf("a directory of %d bytes", len(directory))
		}
	}
	if total != 6*maxFacetKeys+1 {
		t.Errorf("%d matches are counted, want %d", total, 6*maxFacetKeys+1)
	}
	var c facetCounter[int]
	for i := range maxFacetKeys + 1 {
		c.add(i, i, 1)
	}
	out := listFacet("x", true, &c, MaxFacetValues, func(i int) (string, string) { return fmt.Sprint(i), fmt.Sprint(i) })
	if len(out.Values) != MaxFacetValues || !out.More || out.Values[0].Matches != maxFacetKeys-1 {
		t.Errorf("%d values, more %t, the first with %d", len(out.Values), out.More, out.Values[0].Matches)
	}
}

// TestQuoteFilter checks that filters parse back to their values.
func TestQuoteFilter(t *testing.T) {
	for _, value := range []string{"a", "a b", `a"b`, `a\.b`, `a\`, "a(b)", "a)", "-a", "ä", "C++", "a\u3000b", "or", `"`, `a\"b`} {
		read := ""
		syntax.Walk(searchtest.Parse(t, "x "+quoteFilter("lang:", value)).Root, func(q syntax.Query) bool {
			if l, ok := q.(*syntax.Language); ok {
				read += l.Name
			}
			return true
		})
		if read != value {
			t.Errorf("%q is read as %q", value, read)
		}
	}
	for _, value := range []string{"a\x00b", "a\nb", "a\xffb"} {
		if got := quoteFilter("lang:", value); got != "" {
			t.Errorf("%q is written as %q", value, got)
		}
	}
}
