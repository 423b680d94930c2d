package match

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/bitset"
	"github.com/quarrysearch/quarry/query/plan"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestPathsByTheirEnds compares the paths that begin or end with a literal with those whose
// folded text does, among paths with runes that fold to letters of another size.
func TestPathsByTheirEnds(t *testing.T) {
	const seed = 20261130
	rng := rand.New(rand.NewPCG(seed, 0))
	pieces := []string{"k", "K", "\u212a", "ſ", "s", "/", ".c", ".C", "a", "é", "É", "\xff"}
	word := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		return b.String()
	}
	fold := func(s string) []byte { return postings.AppendFold(nil, []byte(s)) }
	matched := 0
	for range 200 {
		paths := make([]string, 1+rng.IntN(500))
		b := segment.NewPlacesBuilder(len(paths))
		for i := range paths {
			paths[i] = word(rng.IntN(5))
			b.Add(segment.DocID(i), 0, segment.NoRef, 0, paths[i])
		}
		p := &plan.Pattern{Sets: [][]string{{word(1 + rng.IntN(2))}}, Fold: rng.IntN(2) == 0, LineStart: rng.IntN(2) == 0}
		p.LineEnd = !p.LineStart || rng.IntN(2) == 0
		literal := []byte(p.Sets[0][0])
		if p.Fold {
			literal = fold(p.Sets[0][0])
			p.Sets[0][0] = string(literal)
		}
		from := rng.IntN(len(paths))
		got := bitset.New(len(paths))
		pathColumn(got, p, corpus.Segment{Places: b.Build()}, from, len(paths))
		for i, path := range paths {
			text := []byte(path)
			if p.Fold {
				text = fold(path)
			}
			want := i >= from && (!p.LineStart || bytes.HasPrefix(text, literal)) && (!p.LineEnd || bytes.HasSuffix(text, literal)) &&
				(!p.LineStart || !p.LineEnd || len(text) == len(literal))
			if got.Has(i) != want {
				t.Fatalf("seed %d: %q with %+v matches: %v, want %v", seed, path, *p, got.Has(i), want)
			}
			if want {
				matched++
			}
		}
	}
	if matched == 0 {
		t.Fatal("no path matches")
	}
}

// TestSegmentWithoutRepository checks that nothing but the repositories of a segment is read if
// none of them satisfies the query: the segment has no reader.
func TestSegmentWithoutRepository(t *testing.T) {
	for _, query := range []string{"lang:go repo:b word", "lang:go -repo:a word", "lang:go (repo:b or repo:c) word"} {
		c, err := Compile(Options{Query: searchtest.Parse(t, query)})
		if err != nil {
			t.Fatal(err)
		}
		b := segment.NewPlacesBuilder(1)
		b.Add(0, 0, segment.NoRef, 0, "main.go")
		var repos []*corpus.Repository
		for _, name := range []string{"a", "b", "c"} {
			repos = append(repos, &corpus.Repository{Repository: code.Repository{Name: name}})
		}
		v := newFinder(NewScope(c, repos, nil), func() bool { return false })
		v.Seg = corpus.Segment{Places: b.Build()}
		if err := v.PrepareCandidates(); err != nil {
			t.Fatal(err)
		}
		if v.Candidates.Possible || v.Work.SegmentsFiltered != 1 || v.NextAllowed(0) >= 0 {
			t.Errorf("%s: possible %v, %d segments filtered, first document %d", query, v.Candidates.Possible, v.Work.SegmentsFiltered, v.NextAllowed(0))
		}
	}
}
