package postings

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// ErrCorrupt reports that an encoded list is malformed.
var ErrCorrupt = errors.New("corrupt posting list")

// The first byte of an encoded list: a value up to maxDeltas is the number of delta-coded
// blocks that follow; otherwise it is one of these constants.
const (
	maxDeltas   = 0x7f
	kindPadded  = 0x80 // Elias–Fano with wordPadding after the low bits, which is only read
	kindBitmap  = 0x81
	kindElias   = 0x82
	wordPadding = 8 // low bits are read 64 bits at a time
)

// List is an encoded posting list. It aliases the parsed bytes.
type List struct {
	kind  byte
	count uint32
	// universe is one more than the largest block of an Elias–Fano list or bitmap.
	universe uint32
	lowBits  uint8
	deltas   []byte
	low      []byte // the low bits and at least wordPadding bytes more
	high     []byte // whole 64-bit words
}

// Len returns the number of blocks.
func (l *List) Len() int { return int(l.count) }

// eliasLowBits returns the number of low bits that minimizes the size of an Elias–Fano
// list of n numbers below u (Vigna, "Quasi-succinct indices", 2013).
func eliasLowBits(n, u uint32) uint8 {
	if u <= n {
		return 0
	}
	return uint8(bits.Len32(u/n) - 1)
}

func eliasHighWords(n, u uint32, low uint8) int {
	return int((uint64(n) + uint64(u>>low) + 1 + 63) / 64)
}

func eliasLowBytes(n uint32, low uint8) int { return int((uint64(n)*uint64(low) + 7) / 8) }

func bitmapBytes(u uint32) int { return int((u + 63) / 64 * 8) }

// AppendList appends the smallest encoding of ascending blocks to dst. An empty list has
// no encoding; an index omits it.
func AppendList(dst []byte, blocks []uint32) []byte {
	n := uint32(len(blocks))
	universe := blocks[n-1] + 1
	low := eliasLowBits(n, universe)
	elias := 8 + eliasLowBytes(n, low) + 8*eliasHighWords(n, universe, low)
	bitmap := 5 + bitmapBytes(universe)
	if n <= maxDeltas && deltaBytes(blocks) <= min(elias, bitmap) {
		return appendDeltas(dst, blocks)
	}
	if bitmap <= elias {
		return appendBitmap(dst, blocks, universe)
	}
	return appendElias(dst, blocks, universe, low)
}

func deltaBytes(blocks []uint32) int {
	n, previous := 1, uint32(0)
	for _, b := range blocks {
		n += (bits.Len32(b-previous|1) + 6) / 7
		previous = b
	}
	return n
}

func appendDeltas(dst []byte, blocks []uint32) []byte {
	dst = append(dst, byte(len(blocks)))
	previous := uint32(0)
	for _, b := range blocks {
		dst = binary.AppendUvarint(dst, uint64(b-previous))
		previous = b
	}
	return dst
}

func appendBitmap(dst []byte, blocks []uint32, universe uint32) []byte {
	dst = append(dst, kindBitmap)
	dst = binary.AppendUvarint(dst, uint64(len(blocks)))
	dst = binary.AppendUvarint(dst, uint64(universe))
	at := len(dst)
	dst = append(dst, make([]byte, bitmapBytes(universe))...)
	for _, b := range blocks {
		dst[at+int(b/8)] |= 1 << (b % 8)
	}
	return dst
}

func appendElias(dst []byte, blocks []uint32, universe uint32, low uint8) []byte {
	n := uint32(len(blocks))
	dst = append(dst, kindElias)
	dst = binary.AppendUvarint(dst, uint64(n))
	dst = binary.AppendUvarint(dst, uint64(universe))
	dst = append(dst, low)
	lowAt := len(dst)
	highAt := lowAt + eliasLowBytes(n, low)
	dst = append(dst, make([]byte, highAt-lowAt+8*eliasHighWords(n, universe, low))...)
	lows, highs := dst[lowAt:], dst[highAt:]
	for i, b := range blocks {
		bit := uint64(i) * uint64(low)
		word := binary.LittleEndian.Uint64(lows[bit/8:])
		word |= uint64(b&(1<<low-1)) << (bit % 8)
		binary.LittleEndian.PutUint64(lows[bit/8:], word)
		position := b>>low + uint32(i)
		highs[position/8] |= 1 << (position % 8)
	}
	return dst
}

// ParseList parses the frame of an encoded list. The blocks themselves are checked when
// they are decoded.
func ParseList(b []byte) (List, error) {
	if len(b) == 0 {
		return List{}, fmt.Errorf("%w: empty", ErrCorrupt)
	}
	if b[0] <= maxDeltas {
		return List{count: uint32(b[0]), deltas: b[1:]}, nil
	}
	l := List{kind: b[0]}
	var err error
	if l.count, b, err = readUint32(b[1:]); err != nil {
		return List{}, err
	}
	if l.universe, b, err = readUint32(b); err != nil {
		return List{}, err
	}
	if l.count == 0 || l.universe > MaxBlocks || l.count > l.universe {
		return List{}, fmt.Errorf("%w: %d blocks below %d", ErrCorrupt, l.count, l.universe)
	}
	switch l.kind {
	case kindBitmap:
		return l.parseBitmap(b)
	case kindElias:
		return l.parseElias(b, 0)
	case kindPadded:
		l.kind = kindElias
		return l.parseElias(b, wordPadding)
	}
	return List{}, fmt.Errorf("%w: kind %#x", ErrCorrupt, l.kind)
}

func (l List) parseBitmap(b []byte) (List, error) {
	if len(b) != bitmapBytes(l.universe) {
		return List{}, fmt.Errorf("%w: bitmap of %d bytes for %d blocks", ErrCorrupt, len(b), l.universe)
	}
	l.high = b
	return l, nil
}

func (l List) parseElias(b []byte, padding int) (List, error) {
	if len(b) == 0 || b[0] > 16 {
		return List{}, fmt.Errorf("%w: low bits", ErrCorrupt)
	}
	l.lowBits, b = b[0], b[1:]
	lows := eliasLowBytes(l.count, l.lowBits) + padding
	if len(b) != lows+8*eliasHighWords(l.count, l.universe, l.lowBits) {
		return List{}, fmt.Errorf("%w: %d bytes for %d blocks below %d", ErrCorrupt, len(b), l.count, l.universe)
	}
	l.low, l.high = b, b[lows:] // high has a word at least
	return l, nil
}

func readUint32(b []byte) (uint32, []byte, error) {
	v, n := binary.Uvarint(b)
	if n <= 0 || v > 1<<32-1 {
		return 0, nil, fmt.Errorf("%w: number", ErrCorrupt)
	}
	return uint32(v), b[n:], nil
}

// forEachBlock calls visit for every block in ascending order.
func (l *List) forEachBlock(visit func(block uint32)) error {
	switch l.kind {
	case kindBitmap:
		return l.eachBit(visit)
	case kindElias:
		return l.eachElias(visit)
	}
	return l.eachDelta(visit)
}

func (l *List) eachDelta(visit func(uint32)) error {
	b, block := l.deltas, uint64(0)
	for i := range l.count {
		var delta uint64
		if len(b) > 0 && b[0] < 0x80 {
			delta, b = uint64(b[0]), b[1:]
		} else {
			v, n := binary.Uvarint(b)
			if n <= 0 {
				return fmt.Errorf("%w: deltas", ErrCorrupt)
			}
			delta, b = v, b[n:]
		}
		block += delta
		if block >= MaxBlocks || (delta == 0 && i > 0) {
			return fmt.Errorf("%w: block %d", ErrCorrupt, block)
		}
		visit(uint32(block))
	}
	return nil
}

func (l *List) eachBit(visit func(uint32)) error {
	for at := 0; at < len(l.high); at += 8 {
		word := binary.LittleEndian.Uint64(l.high[at:])
		for ; word != 0; word &= word - 1 {
			visit(uint32(at*8 + bits.TrailingZeros64(word)))
		}
	}
	return nil
}

func (l *List) eachElias(visit func(uint32)) error {
	low, mask := uint64(l.lowBits), uint64(1)<<l.lowBits-1
	i := uint64(0)
	for at := 0; at < len(l.high); at += 8 {
		word := binary.LittleEndian.Uint64(l.high[at:])
		for ; word != 0; word &= word - 1 {
			if i == uint64(l.count) {
				return fmt.Errorf("%w: too many high bits", ErrCorrupt)
			}
			position := uint64(at*8 + bits.TrailingZeros64(word))
			bit := i * low
			lows := binary.LittleEndian.Uint64(l.low[bit/8:]) >> (bit % 8) & mask
			block := (position-i)<<low | lows
			if block >= MaxBlocks {
				return fmt.Errorf("%w: block %d", ErrCorrupt, block)
			}
			visit(uint32(block))
			i++
		}
	}
	if i != uint64(l.count) {
		return fmt.Errorf("%w: %d of %d high bits", ErrCorrupt, i, l.count)
	}
	return nil
}

// AppendBlocks appends the blocks to dst in ascending order.
func (l *List) AppendBlocks(dst []uint32) ([]uint32, error) {
	err := l.forEachBlock(func(b uint32) { dst = append(dst, b) })
	return dst, err
}

// IntersectBlocks keeps those ascending candidates that are in the list, in place, in one
// pass over both.
func (l *List) IntersectBlocks(candidates []uint32) ([]uint32, error) {
	if l.kind == kindBitmap {
		return l.intersectBitmap(candidates), nil
	}
	if l.kind == kindElias {
		return l.intersectElias(candidates), nil
	}
	kept, i := candidates[:0], 0
	err := l.eachDelta(func(b uint32) {
		for i < len(candidates) && candidates[i] < b {
			i++
		}
		if i < len(candidates) && candidates[i] == b {
			kept = append(kept, b)
			i++
		}
	})
	return kept, err
}

func (l *List) intersectBitmap(candidates []uint32) []uint32 {
	kept := candidates[:0]
	for _, c := range candidates {
		if c < l.universe && l.high[c/8]>>(c%8)&1 != 0 {
			kept = append(kept, c)
		}
	}
	return kept
}

// intersectElias walks the high bits once. The bucket of a candidate c begins after zero
// number c>>lowBits, so whole words are skipped by counting bits.
func (l *List) intersectElias(candidates []uint32) []uint32 {
	kept := candidates[:0]
	low, mask := uint64(l.lowBits), uint64(1)<<l.lowBits-1
	position, zeros := uint64(0), uint64(0) // zeros before position
	end := uint64(len(l.high)) * 8
	for _, c := range candidates {
		if c >= l.universe {
			break
		}
		bucket := uint64(c) >> low
		for zeros < bucket && position < end {
			position, zeros = l.skipZeros(position, zeros, bucket)
		}
		for p := position; p < end && l.high[p/8]>>(p%8)&1 != 0; p++ {
			bit := (p - zeros) * low
			if bit/8+wordPadding > uint64(len(l.low)) {
				return kept // more high bits than the count allows: no blocks there
			}
			lows := binary.LittleEndian.Uint64(l.low[bit/8:]) >> (bit % 8) & mask
			if lows == uint64(c)&mask {
				kept = append(kept, c)
				break
			}
			if lows > uint64(c)&mask {
				break
			}
		}
	}
	return kept
}

// skipZeros moves from position towards the bit after zero number target. It skips the
// rest of a word if that contains too few zeros.
func (l *List) skipZeros(position, zeros, target uint64) (uint64, uint64) {
	word := ^binary.LittleEndian.Uint64(l.high[position/64*8:]) >> (position % 64)
	here := uint64(bits.OnesCount64(word)) // the shift adds no ones
	if zeros+here < target {
		return (position/64 + 1) * 64, zeros + here
	}
	for ; zeros < target; zeros++ {
		skip := uint64(bits.TrailingZeros64(word)) + 1
		word >>= skip
		position += skip
	}
	return position, zeros
}
