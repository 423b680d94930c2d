package segment

import (
	"math/rand/v2"
	"testing"

	"github.com/quarrysearch/quarry/projections/postings"
)

// TestMayHave checks that a segment has every gram of its content, that its filter
// excludes other words, and that a segment without a filter may have everything.
func TestMayHave(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 9))
		docs := randomDocuments(rng, 1+rng.IntN(100))
		for _, with := range []bool{true, false} {
			path, _ := build(t, Options{Grams: with}, docs)
			f, err := OpenFile(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range docs {
				from := rng.IntN(len(d.Text))
				if literal := d.Text[from:min(len(d.Text), from+rng.IntN(100))]; !mayHave(t, f.Reader, string(literal)) {
					t.Fatalf("seed %d: %q is said not to be there", seed, literal)
				}
			}
			if got := mayHave(t, f.Reader, "another_word_than_these"); got == with {
				t.Errorf("seed %d, filter %t: another word may be there: %t", seed, with, got)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func mayHave(t *testing.T, r *Reader, literal string) bool {
	t.Helper()
	may, err := r.MayHave(postings.AppendGrams(nil, postings.AppendFold(nil, []byte(literal))))
	if err != nil {
		t.Fatal(err)
	}
	return may
}
