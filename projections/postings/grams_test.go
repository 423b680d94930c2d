package postings

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// filterOf adds a text in pieces of a given size, like a builder, and returns its filter.
func filterOf(t testing.TB, text []byte, piece int) GramFilter {
	t.Helper()
	var s GramSet
	for at := 0; at < len(text); at += piece {
		s.Add(text[at:], min(piece, len(text)-at))
	}
	f, err := ParseGramFilter(s.AppendFilter(nil))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func gramsOf(literal string) []Gram { return AppendGrams(nil, AppendFold(nil, []byte(literal))) }

// FuzzGramsAreNeverTooNarrow checks that the filter of a text contains every gram of its
// content, for any case, pieces and bytes.
func FuzzGramsAreNeverTooNarrow(f *testing.F) {
	f.Add([]byte("func ParseHeader(r *Reader) error"), 3, 5, 16)
	f.Add([]byte("tic\u212Aets of the \u212Aelvin\u017F and the \xffrest_of_it"), 1, 0, 40)
	f.Fuzz(func(t *testing.T, text []byte, piece, from, size int) {
		if len(text) == 0 || len(text) > 1<<16 {
			return
		}
		filter := filterOf(t, text, 1+abs(piece)%BlockBytes)
		from = abs(from) % len(text)
		literal := string(text[from:min(len(text), from+abs(size)%200)])
		for _, s := range []string{literal, strings.ToLower(literal), strings.ToUpper(literal)} {
			// A change of case may differ from folding: ß becomes SS.
			if bytes.Equal(AppendFold(nil, []byte(s)), AppendFold(nil, []byte(literal))) && !filter.MayHave(gramsOf(s)) {
				t.Fatalf("%q is said not to be in %q", s, text)
			}
		}
	})
}

func abs(n int) int { return max(n, -(n + 1)) }

func TestGramFilterExcludes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, words := range []int{10, 3000, 400_000} {
		var text []byte
		for range words {
			text = fmt.Appendf(text, "%s ", randomWord(rng))
		}
		filter := filterOf(t, text, BlockBytes)
		if bits := filter.SizeBytes() * 8; words < 3000 && bits > minFilterBits || bits > maxFilterBits {
			t.Errorf("%d words: a filter of %d bits", words, bits)
		}
		excluded := 0
		for range 2000 {
			if !filter.MayHave(gramsOf(randomWord(rng))) {
				excluded++
			}
		}
		if excluded < 1990 {
			t.Errorf("%d words: %d of 2000 other words are excluded", words, excluded)
		}
		t.Logf("%d words, %d bytes: a filter of %d bytes, %d of 2000 excluded", words, len(text), filter.SizeBytes(), excluded)
	}
}

// randomWord returns 12 letters, which contain seven grams.
func randomWord(rng *rand.Rand) string {
	b := make([]byte, 12)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyz_"[rng.IntN(27)]
	}
	return string(b)
}

func TestGramsAreReset(t *testing.T) {
	var s GramSet
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		block := make([]byte, 0, BlockBytes)
		for len(block) < BlockBytes-16 {
			block = append(append(block, randomWord(rng)...), ' ')
		}
		s.Add(block, len(block))
	}
	s.Reset()
	s.Add([]byte("one_word"), 8)
	f, err := ParseGramFilter(s.AppendFilter(nil))
	if err != nil || f.SizeBytes() != minFilterBits/8 || !f.MayHave(gramsOf("ONE_WORD")) || f.MayHave(gramsOf("another_one")) {
		t.Errorf("%d bytes, %v", f.SizeBytes(), err)
	}
	if _, err := ParseGramFilter(make([]byte, 100)); err == nil {
		t.Error("a filter of 100 bytes was taken")
	}
}
