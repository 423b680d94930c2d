package postings

import "bytes"

// Dense numbers of trigrams. A trigram of three common bytes has the number made of three
// 6-bit codes, so that the set of trigrams seen in a block is a bitmap of 32 KiB that
// stays in the first-level cache. The numbers of capital pairs and of LongLines follow. Other
// trigrams are numbered after them, in the order of their first occurrence.
const (
	codeBits    = 6
	codeRare    = 1 << codeBits // marks a byte that has no code
	commonDense = 1 << (3 * codeBits)

	firstPair      = commonDense
	longLinesDense = firstPair + pairCodes
	firstRare      = longLinesDense + 1
)

// commonBytes are the 64 bytes that have a code: the most common ones in folded source
// code. The rest of ASCII (^ ` ~ ? @ \ |) is rarer.
const commonBytes = "abcdefghijklmnopqrstuvwxyz0123456789_ \n\t()[]{}<>.,;:=-+*/&%!'\"#$"

var byteCode, codeByte = newCodeTables()

func newCodeTables() (code [256]uint32, back [codeRare]byte) {
	if len(commonBytes) != codeRare {
		panic("postings: commonBytes must have 64 bytes")
	}
	for i := range code {
		code[i] = codeRare
	}
	for i := range len(commonBytes) {
		code[commonBytes[i]] = uint32(i)
		back[i] = commonBytes[i]
	}
	for c := byte('A'); c <= 'Z'; c++ {
		code[c] = code[foldByte[c]]
	}
	return code, back
}

// extractor finds the lists that successive blocks are in, as dense numbers, and their runs.
type extractor struct {
	seen    [commonDense / 64]uint64
	pairs   [pairCodes / 64]uint64 // capital pairs seen in the current block
	classes byteClasses            // of the bytes of the current block
	dense   []uint32               // the distinct numbers of the current block
	fold    []byte
	rare    rareTable
	block   uint32 // number of the current block, from 1
}

func newExtractor() *extractor {
	return &extractor{dense: make([]uint32, maxDistinct(WindowBytes)), rare: newRareTable()}
}

func (x *extractor) reset() {
	x.block = 0
	x.rare.reset()
}

// maxDistinct bounds the lists that a block with a window of n bytes is in, with the element
// that scanText writes after the last one.
func maxDistinct(n int) int { return 2*n + 2 }

// next returns the numbers of the lists that a block is in: its distinct trigrams, its capital
// pairs and LongLines. window is the block's text followed by the text after it; block
// is the length of the block itself. The result is valid until the next call.
func (x *extractor) next(window []byte, block int) []uint32 {
	x.block++
	exact := window[:min(len(window), block+OverhangBytes)]
	text := exact
	if IndexForeign(exact, 0) < len(exact) {
		window = window[:min(len(window), block+OverhangBytes*maxFoldShrink)]
		x.fold = AppendFold(x.fold[:0], window)
		text = x.fold
	}
	if need := maxDistinct(max(len(text), len(exact))); need > len(x.dense) {
		x.dense = make([]uint32, need)
	}
	x.classes.classify(exact)
	out := x.appendPairs(x.scanText(text), exact)
	if bytes.IndexByte(exact[:block], '\n') < 0 {
		out = append(out, longLinesDense)
	}
	return out
}

// scanText collects the distinct trigrams of text, which may contain upper-case ASCII
// letters but is otherwise folded.
//
// The codes of the last three bytes are in 7-bit fields of y. The highest bit of a field
// indicates a rare byte; only then is the slow path taken. Whether a trigram is new is
// added to the length, because a branch would be mispredicted every fourth time.
func (x *extractor) scanText(text []byte) []uint32 {
	const rareMask = codeRare | codeRare<<7 | codeRare<<14
	if len(text) < 3 {
		return x.dense[:0]
	}
	out, n := x.dense, 0
	y := byteCode[text[0]]<<7 | byteCode[text[1]]
	for i := 2; i < len(text); i++ {
		y = (y<<7 | byteCode[text[i]]) & (1<<21 - 1)
		if y&rareMask != 0 {
			t := MakeTrigram(foldByte[text[i-2]], foldByte[text[i-1]], foldByte[text[i]])
			if id, fresh := x.rare.markSeen(t, x.block); fresh {
				out[n] = id
				n++
			}
			continue
		}
		id := y>>2&(0x3f<<12) | y>>1&(0x3f<<6) | y&0x3f
		word, bit := &x.seen[id>>6], id&63
		out[n] = id
		n += int(^*word >> bit & 1)
		*word |= 1 << bit
	}
	for _, id := range out[:n] {
		if id < commonDense {
			x.seen[id>>6] = 0
		}
	}
	return out[:n]
}

// trigramOf returns the trigram of a dense number.
func (x *extractor) trigramOf(id uint32) Trigram {
	switch {
	case id >= firstRare:
		return x.rare.trigrams[id-firstRare]
	case id == longLinesDense:
		return LongLines
	case id >= firstPair:
		pair := id - firstPair
		return pairNumber('@'|byte(pair>>letterBits), '@'|byte(pair&letterMask))
	}
	return MakeTrigram(codeByte[id>>12], codeByte[id>>6&0x3f], codeByte[id&0x3f])
}

// denseLimit returns the largest dense number in use, plus one.
func (x *extractor) denseLimit() int { return firstRare + len(x.rare.trigrams) }

// rareTable numbers trigrams that contain a rare byte, with open addressing.
type rareTable struct {
	slots    []uint32 // index into trigrams, plus one
	trigrams []Trigram
	last     []uint32 // block in which the trigram was last seen
}

const rareTableSlots = 1 << 14

func newRareTable() rareTable { return rareTable{slots: make([]uint32, rareTableSlots)} }

func (t *rareTable) reset() {
	clear(t.slots)
	t.trigrams, t.last = t.trigrams[:0], t.last[:0]
}

// markSeen returns the dense number of a trigram, and reports whether it is new in the
// block.
func (t *rareTable) markSeen(tri Trigram, block uint32) (id uint32, fresh bool) {
	slot := t.findSlot(tri)
	if t.slots[slot] == 0 {
		t.trigrams = append(t.trigrams, tri)
		t.last = append(t.last, block)
		t.slots[slot] = uint32(len(t.trigrams))
		if len(t.trigrams)*2 > len(t.slots) {
			t.growSlots()
		}
		return firstRare + uint32(len(t.trigrams)) - 1, true
	}
	i := t.slots[slot] - 1
	fresh = t.last[i] != block
	t.last[i] = block
	return firstRare + i, fresh
}

func (t *rareTable) findSlot(tri Trigram) uint32 {
	mask := uint32(len(t.slots) - 1)
	slot := uint32(tri) * 0x9e3779b1 >> 7 & mask
	for t.slots[slot] != 0 && t.trigrams[t.slots[slot]-1] != tri {
		slot = (slot + 1) & mask
	}
	return slot
}

func (t *rareTable) growSlots() {
	t.slots = make([]uint32, len(t.slots)*2)
	for i, tri := range t.trigrams {
		t.slots[t.findSlot(tri)] = uint32(i) + 1
	}
}
