package segment

import (
	"math/rand/v2"
	"testing"

	"github.com/quarrysearch/quarry/projections/postings"
)

// newDirectory returns the directory of random trigrams, with their places. Most of them are close
// together, as those of letters are.
func newDirectory(t testing.TB, random *rand.Rand, lists int) (d *directory, places map[postings.Trigram][2]uint32) {
	t.Helper()
	seen := map[postings.Trigram]bool{}
	if lists > 2 {
		seen[0], seen[postings.MaxTrigram] = true, true
	}
	for len(seen) < lists {
		if next := postings.Trigram(random.Uint32N(uint32(postings.MaxTrigram) + 1)); random.IntN(4) == 0 || next>>20 == 6 {
			seen[next] = true
		}
	}
	var b directoryBuilder
	places = map[postings.Trigram][2]uint32{}
	for next := range postings.MaxTrigram + 1 {
		if seen[next] {
			size := 1 + random.IntN(100)
			places[next] = [2]uint32{b.end, uint32(size)}
			b.add(next, size)
		}
	}
	d, err := decodeDirectory(b.encoded, &header{lists: b.lists, pageStart: []uint32{0, b.end}})
	if err != nil {
		t.Fatal(err)
	}
	return d, places
}

// TestDirectory compares the places of lists, and of trigrams without one, in directories of all
// sizes, with those that were added.
func TestDirectory(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, lists := range []int{0, 1, 2, 3, 100, 4095, 4096, 70_000} {
		d, places := newDirectory(t, random, lists)
		if len(places) < lists || len(d.trigrams()) != len(places) {
			t.Errorf("%d lists: %d are there", lists, len(d.trigrams()))
		}
		check := func(x postings.Trigram) {
			if start, size := d.findList(x); size != places[x][1] || size > 0 && start != places[x][0] {
				t.Fatalf("%d lists: that of trigram %d is at %d+%d, want %v", lists, x, start, size, places[x])
			}
		}
		for x := range places {
			check(x)
			check(min(x+1, postings.MaxTrigram))
			check(max(x, 1) - 1)
			check(x ^ 1<<16) // the same low bits in another bucket
		}
	}
}

func BenchmarkFindList(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	d, places := newDirectory(b, random, 110_000)
	var all []postings.Trigram
	for x := range places {
		all = append(all, x, (x+77)&postings.MaxTrigram)
	}
	i := 0
	for b.Loop() {
		d.findList(all[i])
		if i++; i == len(all) {
			i = 0
		}
	}
}
