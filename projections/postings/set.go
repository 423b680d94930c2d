package postings

import (
	"encoding/binary"
	"math/bits"
)

// sparseShare determines the share of a segment's blocks, 1/sparseShare, up to which a
// set is stored as numbers. Beyond it, a bitmap is smaller and faster to intersect.
const sparseShare = 32

// Set is a set of blocks below a bound, stored as numbers if it is sparse and as a bitmap
// if it is dense. The zero Set is empty.
type Set struct {
	sparse []uint32 // ascending; meaningful if dense is nil
	dense  []uint64
	blocks int // bound of the block numbers
}

// SetOf decodes a list into a set of blocks below blocks.
func SetOf(l *List, blocks int) (Set, error) {
	if l.Len() > blocks/sparseShare {
		s := Set{dense: make([]uint64, (blocks+63)/64), blocks: blocks}
		return s, s.unionList(l)
	}
	sparse, err := l.AppendBlocks(make([]uint32, 0, l.Len()))
	s := Set{sparse: sparse, blocks: blocks}
	s.dropOutOfBounds()
	return s, err
}

// SetOfBlocks returns a set of blocks, which must be ascending and below blocks. It retains
// the slice.
func SetOfBlocks(ascending []uint32, blocks int) Set { return Set{sparse: ascending, blocks: blocks} }

// dropOutOfBounds drops numbers at or above the bound, which occur only in corrupt lists.
func (s *Set) dropOutOfBounds() {
	for len(s.sparse) > 0 && int(s.sparse[len(s.sparse)-1]) >= s.blocks {
		s.sparse = s.sparse[:len(s.sparse)-1]
	}
}

func (s *Set) unionList(l *List) error {
	if l.kind == kindBitmap {
		for w := range min(len(s.dense), len(l.high)/8) {
			s.dense[w] |= binary.LittleEndian.Uint64(l.high[8*w:])
		}
		return nil
	}
	return l.forEachBlock(func(b uint32) {
		if w := int(b / 64); w < len(s.dense) {
			s.dense[w] |= 1 << (b % 64)
		}
	})
}

// IntersectList removes the blocks that are not in l.
func (s *Set) IntersectList(l *List) error {
	if s.dense == nil {
		var err error
		s.sparse, err = l.IntersectBlocks(s.sparse)
		return err
	}
	if l.kind == kindBitmap {
		n := min(len(s.dense), len(l.high)/8)
		for w := range n {
			s.dense[w] &= binary.LittleEndian.Uint64(l.high[8*w:])
		}
		clear(s.dense[n:])
		s.shrinkToSparse()
		return nil
	}
	other, err := SetOf(l, s.blocks)
	if err != nil {
		return err
	}
	s.Intersect(other)
	return nil
}

// Intersect removes the blocks that are not in other.
func (s *Set) Intersect(other Set) {
	switch {
	case s.dense == nil:
		kept := s.sparse[:0]
		i := 0
		for _, b := range s.sparse {
			if other.dense != nil {
				if other.dense[b/64]>>(b%64)&1 != 0 {
					kept = append(kept, b)
				}
				continue
			}
			for i < len(other.sparse) && other.sparse[i] < b {
				i++
			}
			if i < len(other.sparse) && other.sparse[i] == b {
				kept = append(kept, b)
			}
		}
		s.sparse = kept
	case other.dense == nil:
		sparse := other.cloneSparse()
		sparse.Intersect(*s)
		*s = sparse
	default:
		for i := range s.dense {
			s.dense[i] &= other.dense[i]
		}
		s.shrinkToSparse()
	}
}

func (s *Set) cloneSparse() Set {
	return Set{sparse: append([]uint32(nil), s.sparse...), blocks: s.blocks}
}

// shrinkToSparse converts a bitmap that has become sparse to numbers.
func (s *Set) shrinkToSparse() {
	if n := s.Len(); n <= s.blocks/sparseShare {
		s.sparse = s.AppendBlocks(make([]uint32, 0, n))
		s.dense = nil
	}
}

// Union adds the blocks of other, which must have the same bound.
func (s *Set) Union(other Set) {
	if s.dense == nil {
		dense := make([]uint64, (s.blocks+63)/64)
		for _, b := range s.sparse {
			dense[b/64] |= 1 << (b % 64)
		}
		s.dense, s.sparse = dense, nil
	}
	if other.dense != nil {
		for i, w := range other.dense {
			s.dense[i] |= w
		}
		return
	}
	for _, b := range other.sparse {
		s.dense[b/64] |= 1 << (b % 64)
	}
}

// Len returns the number of blocks.
func (s *Set) Len() int {
	if s.dense == nil {
		return len(s.sparse)
	}
	n := 0
	for _, w := range s.dense {
		n += bits.OnesCount64(w)
	}
	return n
}

// Next returns the smallest member that is at least block, or -1.
func (s *Set) Next(block int) int {
	if s.dense == nil {
		return s.nextSparse(block)
	}
	if block >= s.blocks {
		return -1
	}
	w := block / 64
	word := s.dense[w] >> (block % 64) << (block % 64)
	for word == 0 {
		if w++; w == len(s.dense) {
			return -1
		}
		word = s.dense[w]
	}
	return w*64 + bits.TrailingZeros64(word)
}

func (s *Set) nextSparse(block int) int {
	lo, hi := 0, len(s.sparse)
	for lo < hi {
		mid := (lo + hi) / 2
		if int(s.sparse[mid]) < block {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(s.sparse) {
		return -1
	}
	return int(s.sparse[lo])
}

// AppendBlocks appends the members to dst in ascending order.
func (s *Set) AppendBlocks(dst []uint32) []uint32 {
	if s.dense == nil {
		return append(dst, s.sparse...)
	}
	for i, w := range s.dense {
		for ; w != 0; w &= w - 1 {
			dst = append(dst, uint32(i*64+bits.TrailingZeros64(w)))
		}
	}
	return dst
}
