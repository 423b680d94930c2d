package postings

import (
	"errors"
	"math/bits"
)

// GramBytes is the length of a Gram. Most words that people look up have two or
// more; words of fewer letters are in every large segment anyway.
const GramBytes = 6

// Gram is a row of GramBytes folded ASCII letters or underscores, five bits each.
// Digits are left out: tables of numbers have endless rows of them, and they say
// little about names.
type Gram uint32

const (
	gramBits = 5
	gramMask = 1<<(GramBytes*gramBits) - 1
	// gramLows and gramHighs are the lowest and the highest bit of each field.
	gramLows  = 1 | 1<<5 | 1<<10 | 1<<15 | 1<<20 | 1<<25
	gramHighs = gramLows << 4
	// gramOverhang is how much text after its first byte a gram can cover.
	gramOverhang = (GramBytes - 1) * maxFoldShrink
)

// gramCode is 0 for bytes that are in no gram.
var gramCode = newGramCodes()

func newGramCodes() (t [256]byte) {
	for c := byte('a'); c <= 'z'; c++ {
		t[c] = c - 'a' + 1
		t[c-'a'+'A'] = c - 'a' + 1
	}
	t['_'] = 27
	return t
}

// next adds one more byte. The result is a gram if isGram reports so.
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

// Bounds of filters, in bits. A full one is 0.8 % of the text of a full segment.
// A quarter of a smaller one is set at most: that is how often a gram seems to be
// there that is not. Of a longer word each gram has to be.
const (
	maxFilterBits = 1 << 23
	minFilterBits = 1 << 9
	filterFill    = 4
)

// filterPosition is that of a gram in the largest filter; in a smaller one it is that
// modulo its size.
func (g Gram) filterPosition() uint32 { return uint32(g) * 0x9E3779B1 >> 9 }

// maxGramList bounds the grams that are kept as a list: a small segment must not
// pay for the memory of a large filter.
const maxGramList = 1 << 15

// A GramSet collects the grams of a text. The zero value is empty.
type GramSet struct {
	// recent leaves out grams that were added just before: most words repeat soon.
	recent [1024]Gram
	list   []uint32 // places, as long as they are few
	bits   []uint64 // of maxFilterBits, once they are not
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
			*r = g // no gram is 0
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

// AppendFilter appends the filter of the set to dst: the smallest that is not too
// full.
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

// halveFilter returns a filter of half the size, nil if that would be too full.
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

// A GramFilter says which grams a text does not have. The zero value says nothing.
type GramFilter struct{ b []byte }

var errFilter = errors.New("a filter has 2^n bytes")

// ParseGramFilter parses the output of AppendFilter; it keeps b.
func ParseGramFilter(b []byte) (GramFilter, error) {
	if n := len(b) * 8; n < minFilterBits || n > maxFilterBits || n&(n-1) != 0 {
		return GramFilter{}, errFilter
	}
	return GramFilter{b}, nil
}

// MayHave reports whether the text may have all of the grams. It never says no of
// a text that has.
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

// SizeBytes returns the memory the filter takes.
func (f GramFilter) SizeBytes() int { return len(f.b) }
