package scan

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/projections/postings"
)

func randomText(rng *rand.Rand, n int) string {
	pieces := []string{"a", "b", "K", "k", "K", "s", "ſ", "S", "é", "É", "ß", "ẞ", "x", "_", "\n", "世", "\xff", "ab", "σ", "ς", "Σ"}
	var b strings.Builder
	for range n {
		b.WriteString(pieces[rng.IntN(len(pieces))])
	}
	return b.String()
}

// TestLiteralAgreesWithRegexp compares with the regular expressions of the standard
// library, which fold case in the same way.
func TestLiteralAgreesWithRegexp(t *testing.T) {
	for seed := range uint64(20000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		text, literal := randomText(rng, rng.IntN(40)), strings.ReplaceAll(randomText(rng, 1+rng.IntN(3)), "\xff", "")
		if literal == "" {
			continue
		}
		for _, fold := range []bool{false, true} {
			flags, needle := "", literal
			if fold {
				flags, needle = "(?i)", string(postings.AppendFold(nil, []byte(literal)))
			}
			want := regexp.MustCompile(flags+regexp.QuoteMeta(literal)).FindAllStringIndex(text, -1)
			l := NewLiterals([]string{needle}, fold)
			l.Reset([]byte(text))
			at := 0
			for _, m := range want {
				start, end := l.Next(at)
				if start != m[0] || end != m[1] {
					t.Fatalf("seed %d: %q in %q (fold %v) after %d: got %d-%d, want %v", seed, literal, text, fold, at, start, end, m)
				}
				at = end
			}
			if start, _ := l.Next(at); start >= 0 {
				t.Fatalf("seed %d: %q in %q (fold %v): extra match at %d", seed, literal, text, fold, start)
			}
		}
	}
}

// occurrences lists the occurrences of a folded literal.
func occurrences(next func(text []byte, from int) (start, end int), text []byte) (all [][2]int) {
	for at := 0; ; {
		start, end := next(text, at)
		if start < 0 {
			return all
		}
		all = append(all, [2]int{start, end})
		at = end
	}
}

// TestAutomatonAgreesWithAnchors compares the two ways to find a folded literal.
func TestAutomatonAgreesWithAnchors(t *testing.T) {
	for seed := range uint64(20000) {
		rng := rand.New(rand.NewPCG(seed, 4))
		text := []byte(randomText(rng, rng.IntN(60)))
		literal := strings.ReplaceAll(randomText(rng, 1+rng.IntN(4)), "\xff", "")
		if rng.IntN(3) == 0 {
			literal = strings.Repeat(literal, 2)
		}
		if literal == "" {
			continue
		}
		folded := postings.AppendFold(nil, []byte(literal))
		l := NewLiterals([]string{string(folded)}, true)
		l.Reset(text)
		want := occurrences(func(_ []byte, from int) (int, int) { return l.Next(from) }, text)
		if got := occurrences(newAutomaton(folded).next, text); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %q in %q: got %v, want %v", seed, literal, text, got, want)
		}
	}
}

// TestRepetitiveTextsTakeLinearWork counts the bytes compared for literals that nearly
// occur everywhere.
func TestRepetitiveTextsTakeLinearWork(t *testing.T) {
	const n = 1 << 16
	for _, c := range []struct{ unit, last string }{{"a", "b"}, {"k", "x"}, {"ks", "s"}, {"é", "e"}, {"\u212a", "x"}, {"ab", "c"}, {"aé", "é"}} {
		literal := strings.Repeat(c.unit, n/2/len(c.unit)) + c.last
		text := []byte(strings.Repeat(c.unit, n/len(c.unit)))
		for _, found := range []bool{false, true} {
			if found {
				text = append(text, c.last...)
			}
			l := NewLiterals([]string{string(postings.AppendFold(nil, []byte(literal)))}, true)
			l.Reset(text)
			got := len(occurrences(func(_ []byte, from int) (int, int) { return l.Next(from) }, text))
			if (got > 0) != found {
				t.Errorf("%q… in a text of %q: %d occurrences", c.unit, c.unit, got)
			}
			if most := maxCompared*len(text) + len(literal); l.finders[0].comparedBytes > most {
				t.Errorf("%q… in a text of %q: %d bytes compared, want at most %d", c.unit, c.unit, l.finders[0].comparedBytes, most)
			}
		}
	}
}

func TestLiteralsAgreeWithAlternation(t *testing.T) {
	for seed := range uint64(5000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		text := strings.ReplaceAll(randomText(rng, rng.IntN(40)), "\xff", "")
		words := []string{"ab", "a", "bk", "xs"}[:1+rng.IntN(4)]
		want := regexp.MustCompile("(?i)"+strings.Join(words, "|")).FindAllStringIndex(text, -1)
		l := NewLiterals(words, true)
		l.Reset([]byte(text))
		at := 0
		for _, m := range want {
			start, end := l.Next(at)
			if start != m[0] || end != m[1] {
				t.Fatalf("seed %d: %q in %q: got %d-%d, want %v", seed, words, text, start, end, m)
			}
			at = end
		}
		if start, _ := l.Next(at); start >= 0 {
			t.Fatalf("seed %d: extra match at %d", seed, start)
		}
	}
}

func BenchmarkLiteral(b *testing.B) {
	text := bytes.Repeat([]byte("static int foo_bar(struct device *dev, u32 reg)\n{\n\treturn readl(dev->base + reg);\n}\n"), 1000)
	for _, needle := range []string{"mutex_lock", "return", "if", "kmem_cache"} {
		b.Run(needle, func(b *testing.B) {
			l := NewLiterals([]string{needle}, true)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				l.Reset(text)
				for at := 0; ; {
					_, end := l.Next(at)
					if end < 0 {
						break
					}
					at = end
				}
			}
		})
	}
}

// TestMayCross checks that an occurrence across the end of a text is never missed.
func TestMayCross(t *testing.T) {
	for _, word := range []string{"abcab", "x", "über", "kilo"} {
		for _, fold := range []bool{false, true} {
			l := NewLiterals([]string{string(postings.AppendFold(nil, []byte(word)))}, fold)
			for _, whole := range []string{"zz abcab zz", "zz ABCAB", "aabcab.", "x", "ein ÜBER zwei", "\u212ailo", "kIlo"} {
				l.Reset([]byte(whole))
				start, end := l.Next(0)
				for cut := range len(whole) {
					if start >= 0 && start < cut && cut < end && !l.MayCross([]byte(whole[:cut])) {
						t.Errorf("%q in %q cut at %d", word, whole, cut)
					}
				}
			}
			if word[0] < utf8.RuneSelf && l.MayCross([]byte("nothing of it!")) {
				t.Errorf("%q, fold %v: crosses where it does not occur", word, fold)
			}
		}
	}
}
