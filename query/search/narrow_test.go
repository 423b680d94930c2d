package search

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestFewAllowedDocumentsNeedNoIndex searches one file of 400, by text and by symbol. No
// posting list is read, unless the filter allows many files.
func TestFewAllowedDocumentsNeedNoIndex(t *testing.T) {
	m := &searchtest.Model{Refs: []code.Ref{"refs/heads/main"}, Repos: []*corpus.Repository{{Repository: code.Repository{ID: 1, Name: "host/repo", DefaultBranch: "main"}}}}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 400 {
		d := &searchtest.ModelDocument{Text: fmt.Appendf(searchtest.FillerText(rng, 2000), "\nstruct unique%d\nkmalloc\n", i), Lang: "C"}
		d.Symbols = searchtest.ModelSymbols(d.Text)
		m.Documents = append(m.Documents, d)
		m.Places = append(m.Places, searchtest.ModelPlace{Path: fmt.Sprintf("src/file%03d.c", i), Ref: "refs/heads/main", Doc: d})
	}
	m.AddSegment(t, m.Documents)
	for _, tc := range []struct {
		query   string
		matches int
		index   bool // the index is searched
	}{
		{"file:file007 unique7", 1, false},
		{"file:file007 unique8", 0, false},
		{"file:^src/file00[12]\\.c$ unique1", 1, false},
		{"file:file007 sym:^kmalloc$", 2, false},
		{"file:file007 or file:file123 unique123", 2, false},
		{"(file:file007 or file:file123) unique123", 1, false},
		{"-file:file007 unique7", 10, true},
		{"file:src unique7", 11, true},
	} {
		r, err := newSearcher(Options{}).Search(t.Context(), m, Request{Query: searchtest.Parse(t, tc.query), Matches: 100, Brief: true})
		if err != nil {
			t.Fatal(err)
		}
		if r.Stats.Matches != tc.matches || r.Stats.Lists > 0 != tc.index {
			t.Errorf("%s: %d matches, %d lists; want %d, and lists: %t", tc.query, r.Stats.Matches, r.Stats.Lists, tc.matches, tc.index)
		}
		r.Release()
	}
}
