package deadletters

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quarrysearch/quarry/schemas/event"
)

// TestOffsets compares the set with a map.
func TestOffsets(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		var o offsetSet
		want := map[event.Offset]bool{}
		for i := range 400 {
			at := event.Offset(1000 + rnd.IntN(500) - rnd.IntN(int(seed)*20+1))
			if rnd.IntN(2) == 0 {
				if o.add(at) == want[at] {
					t.Fatalf("seed %d, step %d: add %d", seed, i, at)
				}
				want[at] = true
			} else {
				if o.removeOffset(at) != want[at] {
					t.Fatalf("seed %d, step %d: remove %d", seed, i, at)
				}
				delete(want, at)
			}
			if o.n != len(want) || o.hasOffset(at) != want[at] {
				t.Fatalf("seed %d, step %d: %d offsets, want %d", seed, i, o.n, len(want))
			}
		}
		var got []event.Offset
		o.forEach(func(at event.Offset) { got = append(got, at) })
		if !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
			t.Fatalf("seed %d: %v", seed, got)
		}
	}
}
