package postings

import "encoding/binary"

// byteMask has a bit for each byte of a block and of the MaxRun bytes after it, the first in the
// lowest bit of the first word. The last word is 0.
type byteMask [(BlockBytes+MaxRun)/64 + 1]uint64

// byteClasses are the bytes of a block, and of the overhang, that are in each class.
type byteClasses struct {
	upper, letter byteMask // A-Z, A-Z a-z
	runs          [RunClasses]byteMask
}

// lowBits is the lowest bit of each byte of a word, and highBits the highest.
const (
	lowBits  = 0x0101010101010101
	highBits = lowBits << 7
)

// classify determines the classes of text, which has at most BlockBytes+MaxRun bytes.
func (c *byteClasses) classify(text []byte) {
	if len(text) < BlockBytes+MaxRun {
		*c = byteClasses{}
	}
	i := 0
	for ; len(text) >= 64; i++ {
		c.classifyChunk(i, (*[64]byte)(text))
		text = text[64:]
	}
	if len(text) > 0 {
		var chunk [64]byte // 0 is in no class
		copy(chunk[:], text)
		c.classifyChunk(i, &chunk)
	}
}

// classifyChunk determines word i of each mask, eight bytes at a time. A variable of eight bytes has
// the highest bit of each byte set that is in a class.
func (c *byteClasses) classifyChunk(i int, chunk *[64]byte) {
	var upper, letter, digit, hex, digitOrLine, sign, foreign uint64
	for at := 0; at < len(chunk); at += 8 {
		word := binary.LittleEndian.Uint64(chunk[at:])
		ascii, low := ^word&highBits, word&^highBits
		folded := low | lowBits<<5
		digits := inRange(low, '0', '9') & ascii
		signs := inRange(low, '+', '/')&(low<<7) | inRange(low, '=', '=') // every second one of + , - . /
		upper |= packBits(inRange(low, 'A', 'Z')&ascii) << at
		letter |= packBits(inRange(folded, 'a', 'z')&ascii) << at
		hex |= packBits(inRange(folded, 'a', 'f')&ascii|digits) << at
		digit |= packBits(digits) << at
		digitOrLine |= packBits(inRange(low, '_', '_')&ascii|digits) << at
		sign |= packBits(signs&ascii) << at
		foreign |= packBits(word&highBits) << at
	}
	c.upper[i], c.letter[i] = upper, letter
	c.runs[RunForeign][i] = foreign
	c.runs[RunDigit][i] = digit
	c.runs[RunHex][i] = hex
	c.runs[RunUpper][i] = upper | digitOrLine
	c.runs[RunWord][i] = letter | digitOrLine | foreign
	c.runs[RunBase64][i] = letter | digitOrLine | sign
}

// inRange sets the highest bit of each byte of low that is at least first and at most last. The
// highest bits of low are clear, and the other bits of the result are undefined.
func inRange(low uint64, first, last uint64) uint64 {
	return (low + (0x80-first)*lowBits) &^ (low + (0x7f-last)*lowBits)
}

// packBits moves the highest bits of the eight bytes, the only ones that are set, to the lowest
// eight bits.
func packBits(word uint64) uint64 { return word * 0x0002040810204081 >> 56 }

// longestRun returns the length of the longest run of set bits that starts before bit block, in
// steps of runStep, or 0 if it is shorter than least. Lengths beyond MaxRun are not distinguished.
func (m *byteMask) longestRun(block, least int) int {
	starts, n := *m, 1 // bit i of starts is set if bits i to i+n-1 of m are
	for n < least {
		step := min(n, least-n)
		if !starts.keepFollowed(step, block) {
			return 0
		}
		n += step
	}
	for n < MaxRun && starts.keepFollowed(runStep, block) {
		n += runStep
	}
	return n
}

// keepFollowed keeps the bits for which the bit that is step bits later is also set, and reports
// whether one before bit block remains.
func (m *byteMask) keepFollowed(step, block int) bool {
	for i := range len(m) - 1 {
		m[i] &= m[i]>>(step&63) | m[i+1]<<(-step&63)
	}
	found := m[block/64] & (1<<(block%64) - 1)
	for _, word := range m[:block/64] {
		found |= word
	}
	return found != 0
}
