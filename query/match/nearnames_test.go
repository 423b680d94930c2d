package match

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/query/internal/bitset"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/schemas/spelling"
)

// TestMayBeNear checks that the trigrams of a word with typing errors pass the filter, and
// that those of another word do not.
func TestMayBeNear(t *testing.T) {
	const seed = 20261128
	random := rand.New(rand.NewPCG(seed, 0))
	letters := func(n int) []byte {
		word := make([]byte, n)
		for i := range word {
			word[i] = "abcdefgh"[random.IntN(8)]
		}
		return word
	}
	refused := 0
	for range 20_000 {
		f := &NameFinder{errors: 1 + random.IntN(2)}
		word := letters(4 + random.IntN(30))
		name := slices.Clone(word)
		for range f.errors {
			switch i := random.IntN(len(name) - 1); random.IntN(4) {
			case 0:
				name[i], name[i+1] = name[i+1], name[i]
			case 1:
				name[i] = 'z'
			case 2:
				name = slices.Insert(name, i, 'y')
			case 3:
				name = slices.Delete(name, i, i+1)
			}
		}
		grams := nearGrams("\n" + string(word) + "\n")
		hasGrams := func(name []byte) (has uint64) {
			others := postings.AppendTrigrams(nil, slices.Concat([]byte("\n"), name, []byte("\n")))
			for i, g := range grams {
				if slices.Contains(others, g) {
					has |= 1 << i
				}
			}
			return has
		}
		if d := spelling.Distance(string(word), string(name), f.errors); d <= f.errors && !f.mayBeNear(hasGrams(name), len(grams)) {
			t.Fatalf("seed %d: %q has %d errors against %q and is refused", seed, name, d, word)
		}
		if !f.mayBeNear(hasGrams(letters(len(word))), len(grams)) {
			refused++
		}
	}
	if refused < 15_000 {
		t.Errorf("%d of 20,000 other words are refused, want 15,000", refused)
	}
}

// TestNearNamesAreBounded checks that names with two errors are not looked for in more
// blocks than allowed, and names with one error are.
func TestNearNamesAreBounded(t *testing.T) {
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(13, 14)))
	step := func() bool { return true }
	for _, c := range []struct {
		word         string
		errors, most int
		found        bool
	}{
		{"kmalloc", 1, 0, false}, // no error
		{"kmaloc", 1, 0, true}, {"kmalocx", 2, 1000, true}, {"kmalocx", 2, 0, false},
	} {
		f := NewNameFinder(c.word, false, c.errors)
		f.most = c.most
		if err := f.SearchSymbols(step, m.Segments()); err != nil {
			t.Fatal(err)
		}
		if got := f.Found["kmalloc"] != nil; got != c.found {
			t.Errorf("%s with %d errors in at most %d blocks: found kmalloc: %v, want %v (found %v)", c.word, c.errors, c.most, got, c.found, f.Found)
		}
	}
}

// TestNearNamesOfVisibleDocuments checks that names are found where all documents of a
// segment are visible, as where the view names none, and not where none is.
func TestNearNamesOfVisibleDocuments(t *testing.T) {
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(13, 14)))
	step := func() bool { return true }
	for _, visible := range []bool{true, false} {
		segments := slices.Clone(m.Segments())
		for i := range segments {
			places := segments[i].Places.Len()
			segments[i].Visible = bitset.New(places)
			for p := 0; visible && p < places; p++ {
				bitset.Set(segments[i].Visible).Add(p)
			}
		}
		f := NewNameFinder("kmaloc", false, 1)
		if err := f.SearchSymbols(step, segments); err != nil {
			t.Fatal(err)
		}
		if got := f.Found["kmalloc"] != nil; got != visible {
			t.Errorf("documents visible: %v, found kmalloc: %v", visible, got)
		}
	}
}

// TestSpreadLists checks that no errors can remove the trigrams of all chosen lists, and that
// their size is the least among such lists.
func TestSpreadLists(t *testing.T) {
	const seed = 20261130
	random := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		errors := 1 + random.IntN(2)
		sizes := make([]int, lostGrams*errors+1+random.IntN(6))
		for i := range sizes {
			sizes[i] = random.IntN(20)
		}
		sum, least := 0, math.MaxInt
		f := &NameFinder{errors: errors}
		chosen := spreadLists(sizes, errors)
		for mask := range uint64(1) << len(sizes) {
			if bits.OnesCount64(mask) != errors+1 || f.mayBeNear(^mask, len(sizes)) {
				continue // too few, or all removed by the errors
			}
			size := 0
			for i := range sizes {
				size += sizes[i] * int(mask>>i&1)
			}
			if least = min(least, size); mask == chosen {
				sum = size
			}
		}
		if sum != least {
			t.Fatalf("seed %d: sizes %v with %d errors: lists %b of size %d are chosen, the least is %d", seed, sizes, errors, chosen, sum, least)
		}
	}
}
