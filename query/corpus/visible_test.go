package corpus_test

import (
	"math/rand/v2"
	"testing"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/bitset"
)

// TestRepoRuns compares the runs of repositories with the places, which are many for each
// repository or few, all visible or some.
func TestRepoRuns(t *testing.T) {
	const seed = 20261201
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		n, length := rng.IntN(400), 1+rng.IntN(60)
		b := segment.NewPlacesBuilder(n)
		repo := uint32(0)
		for i := range n {
			if rng.IntN(length) == 0 {
				repo = rng.Uint32N(4)
			}
			b.Add(segment.DocID(i), repo, segment.NoRef, 0, "f")
		}
		s := corpus.Segment{Places: b.Build()}
		if rng.IntN(2) == 0 {
			s.Visible = bitset.New(n)
			for i := range n {
				if rng.IntN(3) > 0 {
					bitset.Set(s.Visible).Add(i)
				}
			}
		}
		for range 2 { // found, and kept
			next := 0
			for from, to := range s.RepoRuns() {
				for ; next < from; next++ {
					if s.IsVisible(next) {
						t.Fatalf("seed %d: place %d of %d is in no run", seed, next, n)
					}
				}
				for ; next < to; next++ {
					if !s.IsVisible(next) || s.Places.Repo[next] != s.Places.Repo[from] {
						t.Fatalf("seed %d: place %d of %d is in the run from %d to %d", seed, next, n, from, to)
					}
				}
			}
			for ; next < n; next++ {
				if s.IsVisible(next) {
					t.Fatalf("seed %d: place %d of %d is in no run", seed, next, n)
				}
			}
		}
	}
}
