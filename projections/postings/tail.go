package postings

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// Tail returns the members of a list at or above from and below blocks, such as those at
// the end of a segment's text space, where the symbols are. It skips earlier members
// without decoding them.
func Tail(l *List, from, blocks int) (Set, error) {
	s := Set{blocks: blocks}
	var err error
	switch l.kind {
	case kindBitmap:
		s.sparse = l.appendBitsFrom(nil, uint32(from))
	case kindElias:
		s.sparse, err = l.appendEliasFrom(nil, uint32(from))
	default:
		err = l.eachDelta(func(b uint32) {
			if int(b) >= from {
				s.sparse = append(s.sparse, b)
			}
		})
	}
	s.dropOutOfBounds()
	return s, err
}

func (l *List) appendBitsFrom(dst []uint32, from uint32) []uint32 {
	n := 0
	for at := int(from / 64 * 8); at < len(l.high); at += 8 {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(l.high[at:]))
	}
	dst = slices.Grow(dst, n)
	for at := int(from / 64 * 8); at < len(l.high); at += 8 {
		word := binary.LittleEndian.Uint64(l.high[at:])
		if uint32(at*8) < from {
			word = word >> (from % 64) << (from % 64)
		}
		for ; word != 0; word &= word - 1 {
			dst = append(dst, uint32(at*8+bits.TrailingZeros64(word)))
		}
	}
	return dst
}

// appendEliasFrom skips to the bucket of from and decodes from there.
func (l *List) appendEliasFrom(dst []uint32, from uint32) ([]uint32, error) {
	if from >= l.universe {
		return dst, nil
	}
	low, mask := uint64(l.lowBits), uint64(1)<<l.lowBits-1
	position, zeros, end := uint64(0), uint64(0), uint64(len(l.high))*8
	for bucket := uint64(from) >> low; zeros < bucket && position < end; {
		position, zeros = l.skipZeros(position, zeros, bucket)
	}
	dst = slices.Grow(dst, max(int(l.count)-int(position-zeros), 0))
	for i := position - zeros; position < end; position++ {
		if l.high[position/8]>>(position%8)&1 == 0 {
			zeros++
			continue
		}
		bit := i * low
		if i >= uint64(l.count) || bit/8+wordPadding > uint64(len(l.low)) {
			return dst, fmt.Errorf("%w: too many high bits", ErrCorrupt)
		}
		block := zeros<<low | binary.LittleEndian.Uint64(l.low[bit/8:])>>(bit%8)&mask
		if block >= MaxBlocks {
			return dst, fmt.Errorf("%w: block %d", ErrCorrupt, block)
		}
		if block >= uint64(from) {
			dst = append(dst, uint32(block))
		}
		i++
	}
	return dst, nil
}

// Intersection returns the members of both sets, without modifying them.
func Intersection(a, b Set) Set {
	if b.dense == nil {
		a, b = b, a
	}
	c := Set{sparse: slices.Clone(a.sparse), dense: slices.Clone(a.dense), blocks: a.blocks}
	c.Intersect(b)
	return c
}
