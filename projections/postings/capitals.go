package postings

import "math/bits"

// A capital pair is two successive ASCII letters of unfolded text, of which at least one is a
// capital. Trigrams do not distinguish letter case, so Order and order have the same ones, and
// the pair Or tells them apart. Its list is stored like that of a trigram, under a number that
// no trigram has: folded text has no capitals.

// A letter is determined by its lowest letterBits bits.
const (
	letterBits = 6
	letterMask = 1<<letterBits - 1
	pairCodes  = 1 << (2 * letterBits)
)

// isCapitalPair reports whether two bytes are a capital pair.
func isCapitalPair(a, b byte) bool {
	isLetter := func(c byte) bool { return 'a' <= foldByte[c] && foldByte[c] <= 'z' }
	return isLetter(a) && isLetter(b) && (a != foldByte[a] || b != foldByte[b])
}

// pairNumber returns the number of the list of a capital pair.
func pairNumber(a, b byte) Trigram { return MakeTrigram(a, b, 0) }

// AppendCapitalPairs appends the numbers of the lists of the capital pairs of an unfolded
// literal to dst, in order, including repetitions. Like AppendTrigrams, it uses only the first
// OverhangBytes of the literal.
func AppendCapitalPairs(dst []Trigram, literal []byte) []Trigram {
	literal = literal[:min(len(literal), OverhangBytes)]
	for i := 0; i+2 <= len(literal); i++ {
		if isCapitalPair(literal[i], literal[i+1]) {
			dst = append(dst, pairNumber(literal[i], literal[i+1]))
		}
	}
	return dst
}

// appendPairs appends the distinct capital pairs of a block to the numbers of its lists. text is
// unfolded, and x.classes are those of its bytes.
//
// Whether a pair is new is added to the length, like that of a trigram in scanText.
func (x *extractor) appendPairs(out []uint32, text []byte) []uint32 {
	classes := &x.classes
	clear(x.pairs[:])
	n, out := len(out), out[:cap(out)]
	for i := range len(classes.letter) - 1 {
		letter, upper := classes.letter[i], classes.upper[i]
		starts := letter & (letter>>1 | classes.letter[i+1]<<63) & (upper | upper>>1 | classes.upper[i+1]<<63)
		for ; starts != 0; starts &= starts - 1 {
			at := i*64 + bits.TrailingZeros64(starts)
			pair := uint32(text[at]&letterMask)<<letterBits | uint32(text[at+1]&letterMask)
			word, bit := &x.pairs[pair/64], pair%64
			out[n] = firstPair + pair
			n += int(^*word >> bit & 1)
			*word |= 1 << bit
		}
	}
	return out[:n]
}
