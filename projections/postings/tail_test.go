package postings

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTailAndCommon compares the tail of a list with the members of the decoded list at
// or above the bound.
func TestTailAndCommon(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	random := func() []uint32 {
		var blocks []uint32
		share := 1 + rng.IntN(1<<rng.IntN(12))
		for b := range uint32(5000) {
			if rng.IntN(share) == 0 {
				blocks = append(blocks, b)
			}
		}
		return append(blocks, 5000)
	}
	kinds := map[byte]bool{}
	for range 200 {
		x, y := random(), random()
		a, err := ParseList(AppendList(nil, x))
		if err != nil {
			t.Fatal(err)
		}
		kinds[a.kind] = true
		bound := 4990 + rng.IntN(20)
		from := rng.IntN(5010)
		tail, err := Tail(&a, from, bound)
		if err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(slices.Clone(x), func(b uint32) bool { return int(b) < from || int(b) >= bound })
		if got := tail.AppendBlocks(nil); !slices.Equal(got, want) {
			t.Fatalf("kind %#x from %d below %d: got %v, want %v", a.kind, from, bound, got, want)
		}
		b, _ := ParseList(AppendList(nil, y))
		s, _ := SetOf(&a, 6000)
		o, _ := SetOf(&b, 6000)
		before := s.AppendBlocks(nil)
		both := Intersection(s, o)
		want = slices.DeleteFunc(slices.Clone(x), func(b uint32) bool { return !slices.Contains(y, b) })
		if got := both.AppendBlocks(nil); !slices.Equal(got, want) || !slices.Equal(s.AppendBlocks(nil), before) {
			t.Fatalf("common: got %v, want %v", got, want)
		}
	}
	if len(kinds) != 3 {
		t.Fatalf("kinds %v", kinds)
	}
}
