package match

import (
	"math/rand/v2"
	"testing"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/search/searchtest"
)

// TestHeldMatchesAreBounded checks that the matches of several patterns held for one
// document are bounded.
func TestHeldMatchesAreBounded(t *testing.T) {
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(1, 1)))
	c, err := Compile(Options{Query: searchtest.Parse(t, "i e")})
	if err != nil {
		t.Fatal(err)
	}
	v := NewMatcher(NewScope(c, m.Repositories(), nil), 1<<20, func() bool { return false }, nil)
	defer func() { _ = v.Close() }()
	v.maxHeld = 3
	for _, s := range m.Segments() {
		v.OpenSegment(s)
		if err := v.Finder.PrepareCandidates(); err != nil {
			t.Fatal(err)
		}
		end := v.StartMatching()
		for d := v.Finder.NextAllowed(0); d >= 0 && !v.Finder.ShouldStop(); d = v.Finder.NextAllowed(d + 1) {
			v.ReleaseHeld()
			if _, err := v.EvalQuery(segment.DocID(d), int(s.Places.First[d]), 1<<20); err != nil {
				t.Fatal(err)
			}
		}
		end()
	}
	if !v.Finder.Exceeded || v.heldMatches > v.maxHeld+1 {
		t.Fatalf("%d held, exceeded %v", v.heldMatches, v.Finder.Exceeded)
	}
}
