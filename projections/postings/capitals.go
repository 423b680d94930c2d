package postings

// A capital pair is two successive bytes of unfolded text, letters, digits or underscores,
// of which at least one is an ASCII capital. Trigrams do not distinguish letter case, so
// Order and order have the same ones, and the pair Or tells them apart. Its list is stored like
// that of a trigram, under a number that no trigram has: folded text has no capitals.

// pairCodes is the number of combinations of two codes of bytes.
const pairCodes = codeRare * codeRare

// A byte that may be in a capital pair has a class; isCapital is set for a capital.
const (
	isPairByte = 1 << iota
	isCapital
)

var pairClass, pairCode = newPairTables()

func newPairTables() (class [256]uint8, code [256]uint32) {
	const bytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
	for i := range len(bytes) {
		c := bytes[i]
		class[c], code[c] = isPairByte, uint32(i)
		if 'A' <= c && c <= 'Z' {
			class[c] |= isCapital
		}
	}
	return class, code
}

// isCapitalPair reports whether two bytes are a capital pair.
func isCapitalPair(a, b byte) bool {
	return pairClass[a]&pairClass[b]&isPairByte != 0 && (pairClass[a]|pairClass[b])&isCapital != 0
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
// unfolded.
func (x *extractor) appendPairs(out []uint32, text []byte) []uint32 {
	clear(x.pairs[:])
	before := uint8(0)
	for i, c := range text {
		class := pairClass[c]
		both, either := before&class, before|class
		if before = class; both&isPairByte == 0 || either&isCapital == 0 {
			continue
		}
		n := pairCode[text[i-1]]<<codeBits | pairCode[c]
		if word, bit := &x.pairs[n>>6], n&63; *word>>bit&1 == 0 {
			*word |= 1 << bit
			id, _ := x.rare.markSeen(pairNumber(text[i-1], c), x.block)
			out = append(out, id)
		}
	}
	return out
}
