package postings

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// ascendingBlocks returns n distinct ascending blocks below bound.
func ascendingBlocks(rng *rand.Rand, n, bound int) []uint32 {
	seen := map[uint32]bool{}
	for len(seen) < min(n, bound) {
		seen[uint32(rng.IntN(bound))] = true
	}
	out := make([]uint32, 0, n)
	for b := range seen {
		out = append(out, b)
	}
	slices.Sort(out)
	return out
}

func decode(t *testing.T, encoded []byte) []uint32 {
	t.Helper()
	l, err := ParseList(encoded)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := l.AppendBlocks(nil)
	if err != nil {
		t.Fatal(err)
	}
	return blocks
}

func TestListRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 5, 100, 127, 128, 1000, 20000, 60000, MaxBlocks} {
		for _, bound := range []int{1, 70, 5000, 32768, MaxBlocks} {
			want := ascendingBlocks(rng, n, bound)
			if got := decode(t, AppendList(nil, want)); !slices.Equal(got, want) {
				t.Fatalf("%d of %d: got %d blocks, want %d", n, bound, len(got), len(want))
			}
		}
	}
}

// appendPadding inserts the bytes that versions before 6 have after the low bits of a list in
// Elias–Fano code. It returns another list as it is.
func appendPadding(dst, encoded []byte) []byte {
	l, err := ParseList(encoded)
	if err != nil || encoded[0] != kindElias {
		return append(dst, encoded...)
	}
	lows := len(encoded) - len(l.high)
	dst = append(append(dst, kindPadded), encoded[1:lows]...)
	return append(append(dst, make([]byte, wordPadding)...), l.high...)
}

// TestPaddedLists reads lists as versions before 6 wrote them.
func TestPaddedLists(t *testing.T) {
	rng, padded := rand.New(rand.NewPCG(1, 3)), 0
	for _, n := range []int{1, 100, 128, 1000, 9000} {
		for _, bound := range []int{70, 5000, MaxBlocks} {
			want := ascendingBlocks(rng, n, bound)
			encoded := appendPadding(nil, AppendList(nil, want))
			if encoded[0] == kindPadded {
				padded++
			}
			if got := decode(t, encoded); !slices.Equal(got, want) {
				t.Fatalf("%d of %d: got %d blocks, want %d", n, bound, len(got), len(want))
			}
			l, _ := ParseList(encoded)
			candidates := ascendingBlocks(rng, 2000, bound)
			both, _ := modelSets(candidates, want)
			if got, err := l.IntersectBlocks(candidates); err != nil || !slices.Equal(got, both) {
				t.Fatalf("%d of %d: %d common blocks (%v), want %d", n, bound, len(got), err, len(both))
			}
			tail, err := Tail(&l, bound/2, bound)
			if i, _ := slices.BinarySearch(want, uint32(bound/2)); err != nil || !slices.Equal(tail.AppendBlocks(nil), want[i:]) {
				t.Fatalf("%d of %d: the tail has %d blocks (%v), want %d", n, bound, tail.Len(), err, len(want)-i)
			}
		}
	}
	if padded < 3 {
		t.Fatalf("only %d lists are padded", padded)
	}
}

func TestSetAlgebra(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	sizes := []int{1, 10, 500, 3000, 30000}
	for _, na := range sizes {
		for _, nb := range sizes {
			const bound = 40000
			a, b := ascendingBlocks(rng, na, bound), ascendingBlocks(rng, nb, bound)
			both, either := modelSets(a, b)
			la, _ := ParseList(AppendList(nil, a))
			lb, _ := ParseList(AppendList(nil, b))
			checkSet(t, "list", both, func(s *Set) error { return s.IntersectList(&lb) }, &la, bound)
			sb, _ := SetOf(&lb, bound)
			checkSet(t, "intersect", both, func(s *Set) error { s.Intersect(sb); return nil }, &la, bound)
			checkSet(t, "union", either, func(s *Set) error { s.Union(sb); return nil }, &la, bound)
		}
	}
}

func modelSets(a, b []uint32) (both, either []uint32) {
	for _, x := range a {
		if _, found := slices.BinarySearch(b, x); found {
			both = append(both, x)
		}
	}
	either = append(slices.Clone(a), b...)
	slices.Sort(either)
	return both, slices.Compact(either)
}

func checkSet(t *testing.T, what string, want []uint32, f func(*Set) error, l *List, bound int) {
	t.Helper()
	s, err := SetOf(l, bound)
	if err != nil {
		t.Fatal(err)
	}
	if err := f(&s); err != nil {
		t.Fatal(err)
	}
	if got := s.AppendBlocks(nil); !slices.Equal(got, want) || s.Len() != len(want) {
		t.Fatalf("%s: got %d blocks, want %d", what, len(got), len(want))
	}
	var walked []uint32
	for b := s.Next(0); b >= 0; b = s.Next(b + 1) {
		walked = append(walked, uint32(b))
	}
	if !slices.Equal(walked, want) {
		t.Fatalf("%s: Next walks %d blocks, want %d", what, len(walked), len(want))
	}
}

func TestFoldIsUnicodeSimpleFolding(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			if FoldRune(f) != FoldRune(r) {
				t.Fatalf("%q and %q fold apart", r, f)
			}
		}
		if n := utf8.RuneLen(r); n > 0 && n > maxFoldShrink*utf8.RuneLen(FoldRune(r)) {
			t.Fatalf("%q shrinks by more than %d", r, maxFoldShrink)
		}
	}
}

// TestEveryLiteralIsIndexed checks invariant 2: the trigrams and the capital pairs of any
// literal that is cut from a text have the block in which it starts.
func TestEveryLiteralIsIndexed(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	alphabet := []rune("abcXYZ01 \n\t(){}^~@|?$kKſKéÉßẞσΣς世界\u00ff")
	var text []byte
	for len(text) < 9*BlockBytes {
		if rng.IntN(50) == 0 {
			text = append(text, byte(rng.IntN(256)))
		}
		text = append(text, strings.Repeat("plain ascii text ", rng.IntN(40))...)
		text = utf8.AppendRune(text, alphabet[rng.IntN(len(alphabet))])
	}
	a, pairs := NewAccumulator(), 0
	for round := range 2 {
		lists := indexText(a, text)
		for range 3000 {
			at := rng.IntN(len(text) - 200)
			for at > 0 && !utf8.RuneStart(text[at]) {
				at--
			}
			exact := text[at : at+3+rng.IntN(190)]
			for _, pair := range AppendCapitalPairs(nil, exact) {
				if _, found := slices.BinarySearch(lists[pair], uint32(at/BlockBytes)); !found {
					t.Fatalf("round %d: block %d is missing in the pair %v of %q", round, at/BlockBytes, pair, exact)
				}
				pairs++
			}
			literal := AppendFold(nil, exact)
			literal = literal[:min(len(literal), OverhangBytes)]
			for _, tri := range AppendTrigrams(nil, trimPartialRune(literal)) {
				if _, found := slices.BinarySearch(lists[tri], uint32(at/BlockBytes)); !found {
					t.Fatalf("round %d: block %d is missing in %v of %q", round, at/BlockBytes, tri, literal)
				}
			}
		}
		a.Reset()
	}
	if pairs == 0 {
		t.Fatal("no capital pair")
	}
}

// trimPartialRune drops a truncated rune at the end, which folds differently.
func trimPartialRune(b []byte) []byte {
	for n := 1; n <= 3 && n <= len(b); n++ {
		if c := b[len(b)-n]; c >= 0xc0 {
			if !utf8.FullRune(b[len(b)-n:]) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return bytes.TrimRightFunc(b, func(r rune) bool { return r == utf8.RuneError })
}

func indexText(a *Accumulator, text []byte) map[Trigram][]uint32 {
	for at := 0; at < len(text); at += BlockBytes {
		window := text[at:min(len(text), at+WindowBytes)]
		a.AddBlock(window, min(BlockBytes, len(text)-at))
	}
	lists := map[Trigram][]uint32{}
	last := Trigram(0)
	for tri, blocks := range a.Lists() {
		if tri < last {
			panic("trigrams out of order")
		}
		lists[tri], last = slices.Clone(blocks), tri
	}
	return lists
}

func FuzzParseList(f *testing.F) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1, 50, 3000, 30000} {
		list := AppendList(nil, ascendingBlocks(rng, n, 40000))
		f.Add(list)
		f.Add(appendPadding(nil, list))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ParseList(b)
		if err != nil {
			return
		}
		blocks, err := l.AppendBlocks(nil)
		if err == nil && !slices.IsSorted(blocks) && l.kind != kindElias {
			t.Fatalf("not ascending: %v", blocks)
		}
		_, _ = l.IntersectBlocks([]uint32{0, 5, 100, 4000, 39999, MaxBlocks - 1})
		if s, err := SetOf(&l, 1000); err == nil {
			_ = s.Len()
		}
	})
}

func FuzzListRoundTrip(f *testing.F) {
	f.Add(uint64(1), uint16(3), uint16(100))
	f.Fuzz(func(t *testing.T, seed uint64, n, bound uint16) {
		want := ascendingBlocks(rand.New(rand.NewPCG(seed, 9)), int(n)+1, int(bound)+1)
		if got := decode(t, AppendList(nil, want)); !slices.Equal(got, want) {
			t.Fatalf("got %v want %v", got, want)
		}
	})
}

func BenchmarkAddBlock(b *testing.B) {
	text := bytes.Repeat([]byte("static int foo_bar(struct device *dev, u32 reg)\n{\n\treturn readl(dev->base + reg);\n}\n"), 60)[:WindowBytes]
	a := NewAccumulator()
	b.SetBytes(BlockBytes)
	for b.Loop() {
		if a.Blocks() == MaxBlocks {
			a.Reset()
		}
		a.AddBlock(text, BlockBytes)
	}
}

// TestDamagedDeltas decodes short lists whose blocks do not ascend, are too large or missing.
func TestDamagedDeltas(t *testing.T) {
	for what, b := range map[string][]byte{
		"a block twice": {2, 1, 0}, "a block missing": {2, 1}, "a block that is too large": binary.AppendUvarint([]byte{1}, MaxBlocks),
	} {
		l, err := ParseList(b)
		if err != nil {
			t.Fatal(err)
		}
		if blocks, err := l.AppendBlocks(nil); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, %v, want %v", what, blocks, err, ErrCorrupt)
		}
	}
}
