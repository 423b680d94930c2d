package search

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestIndexTellsCapitalsAndLinesApart searches for text of which the folded words are in each
// of 60 files: the index excludes the files that have them in another letter case, or on lines
// that are far apart.
func TestIndexTellsCapitalsAndLinesApart(t *testing.T) {
	m := &searchtest.Model{Refs: []code.Ref{"refs/heads/main"}, Repos: []*corpus.Repository{{Repository: code.Repository{ID: 1, Name: "host/repo", DefaultBranch: "main"}}}}
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 60 {
		ordering, gap := "ordering", string(searchtest.FillerText(rng, 3*postings.BlockBytes))
		if i == 7 {
			ordering, gap = "reOrdering", " the "
		}
		text := fmt.Sprintf("%s ORDER\ncannot %s cases\n%s\n", ordering, gap, searchtest.FillerText(rng, 2*postings.BlockBytes))
		d := &searchtest.ModelDocument{Text: []byte(text), Lang: "C"}
		m.Documents = append(m.Documents, d)
		m.Places = append(m.Places, searchtest.ModelPlace{Path: fmt.Sprintf("src/file%03d.c", i), Ref: "refs/heads/main", Doc: d})
	}
	m.AddSegment(t, m.Documents)
	for _, tc := range []struct {
		query          string
		matches, files int
	}{
		{"case:yes Ordering", 1, 1},
		{"case:no Ordering", 60, 60},
		{`case:yes regex:Ord[a-z]+ng`, 1, 1},
		{`regex:cannot.*cases`, 1, 1},
		{`regex:reOr.*ORDER`, 1, 1},
	} {
		r, err := newSearcher(Options{}).Search(t.Context(), m, Request{Query: searchtest.Parse(t, tc.query), Matches: 100, Brief: true})
		if err != nil {
			t.Fatal(err)
		}
		if r.Stats.Matches != tc.matches || r.Stats.FilesLoaded != tc.files {
			t.Errorf("%s: %d matches in %d files read; want %d in %d", tc.query, r.Stats.Matches, r.Stats.FilesLoaded, tc.matches, tc.files)
		}
		r.Release()
	}
}
