package postings

import (
	"errors"
	"math/bits"
)

// GramBytes is the length of a Gram. Most words that people search for contain two or
// more grams; shorter words occur in every large segment anyway.
const GramBytes = 6

// Gram is a sequence of GramBytes folded ASCII letters or underscores, five bits each.
// Digits are excluded: tables of numbers contain endless sequences of them, which reveal
// little about names.
type Gram uint32

const (
	gramBits = 5
	gramMask = 1<<(GramBytes*gramBits) - 1
	// gramLows and gramHighs are the lowest and the highest bit of each field.
	gramLows  = 1 | 1<<5 | 1<<10 | 1<<15 | 1<<20 | 1<<25
	gramHighs = gramLows << 4
	// gramOverhang is the maximum length of the text that a gram covers after its first
	// byte.
	gramOverhang = (GramBytes - 1) * maxFoldShrink
)

// gramCode is 0 for bytes that cannot be in a gram.
var gramCode = newGramCodes()

func newGramCodes() (t [256]byte) {
	for c := byte('a'); c <= 'z'; c++ {
		t[c] = c - 'a' + 1
		t[c-'a'+'A'] = c - 'a' + 1
	}
	t['_'] = 27
	return t
}

// next appends one byte. The result is a gram if isGram returns true.
func (g Gram) next(c byte) Gram { return (g<<gramBits | Gram(gramCode[c])) & gramMask }

// isGram reports whether no field of g is zero.
func (g Gram) isGram() bool { return (g-gramLows)&^g&gramHighs == 0 }

// AppendGrams appends the grams of a folded literal to dst.
func AppendGrams(dst []Gram, folded []byte) []Gram {
	g := Gram(0)
	for _, c := range folded {
		if g = g.next(c); g.isGram() {
			dst = append(dst, g)
		}
	}
	return dst
}

// Bounds of filters, in bits. The largest filter takes 0.8 % of the text of a full
// segment. At most a quarter of the bits of a smaller one are set, which is the rate of
// false positives. For a longer word, each of its grams must be found.
const (
	maxFilterBits = 1 << 23
	minFilterBits = 1 << 9
	filterFill    = 4
)

// filterPosition returns the position of a gram in the largest filter. In a smaller one,
// the position is taken modulo its size.
func (g Gram) filterPosition() uint32 { return uint32(g) * 0x9E3779B1 >> 9 }

// maxGramList bounds the grams that are kept as a list, so that a small segment does not
// pay for the memory of a large filter.
const maxGramList = 1 << 15

// GramSet collects the grams of a text. The zero value is empty.
type GramSet struct {
	// recent filters out grams that were added recently, because most words repeat soon.
	recent [1024]Gram
	list   []uint32 // positions, while there are few
	bits   []uint64 // maxFilterBits bits, once there are many
	full   bool     // bits is in use
	fold   []byte
}

// Add adds the grams that begin in the first n bytes of a window of text.
func (s *GramSet) Add(window []byte, n int) {
	window = window[:min(len(window), n+gramOverhang)]
	if IndexForeign(window, 0) < len(window) {
		s.fold = AppendFold(s.fold[:0], window)
		window = s.fold
	}
	g := Gram(0)
	for _, c := range window {
		if g = g.next(c); !g.isGram() {
			continue
		}
		if r := &s.recent[(g^g>>12)%Gram(len(s.recent))]; *r != g {
			*r = g // a gram is never 0
			s.addPosition(g.filterPosition())
		}
	}
}

func (s *GramSet) addPosition(place uint32) {
	if s.full {
		s.bits[place/64] |= 1 << (place % 64)
		return
	}
	if s.list = append(s.list, place); len(s.list) < maxGramList {
		return
	}
	if s.full = true; s.bits == nil {
		s.bits = make([]uint64, maxFilterBits/64)
	}
	for _, place := range s.list {
		s.bits[place/64] |= 1 << (place % 64)
	}
}

// AppendFilter appends the filter of the set to dst. It chooses the smallest size that is
// not too full.
func (s *GramSet) AppendFilter(dst []byte) []byte {
	filter := s.bits
	if !s.full {
		size := minFilterBits
		for size < filterFill*len(s.list) {
			size *= 2
		}
		filter = make([]uint64, size/64)
		for _, place := range s.list {
			place &= uint32(size - 1)
			filter[place/64] |= 1 << (place % 64)
		}
	}
	for {
		half := halveFilter(filter)
		if half == nil {
			break
		}
		filter = half
	}
	for _, w := range filter {
		for range 8 {
			dst = append(dst, byte(w))
			w >>= 8
		}
	}
	return dst
}

// halveFilter returns a filter of half the size, or nil if that would be too full.
func halveFilter(filter []uint64) []uint64 {
	n := len(filter) / 2
	if n*64 < minFilterBits {
		return nil
	}
	half, set := make([]uint64, n), 0
	for i := range half {
		half[i] = filter[i] | filter[n+i]
		set += bits.OnesCount64(half[i])
	}
	if set*filterFill > n*64 {
		return nil
	}
	return half
}

// GramFilter determines which grams a text lacks. The zero value excludes none.
type GramFilter struct{ b []byte }

var errFilter = errors.New("a filter has 2^n bytes")

// ParseGramFilter parses the output of AppendFilter. It retains b.
func ParseGramFilter(b []byte) (GramFilter, error) {
	if n := len(b) * 8; n < minFilterBits || n > maxFilterBits || n&(n-1) != 0 {
		return GramFilter{}, errFilter
	}
	return GramFilter{b}, nil
}

// MayHave reports whether the text may contain all of the grams. It has no false
// negatives.
func (f GramFilter) MayHave(grams []Gram) bool {
	if f.b == nil {
		return true
	}
	mask := uint32(len(f.b)*8 - 1)
	for _, g := range grams {
		if place := g.filterPosition() & mask; f.b[place/8]>>(place%8)&1 == 0 {
			return false
		}
	}
	return true
}

// SizeBytes returns the size of the filter in memory.
func (f GramFilter) SizeBytes() int { return len(f.b) }
