package search

import "math/bits"

// A bitset is a set of small numbers. Where a function documents it, a nil bitset means
// all numbers.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) set(i int) { b[i/64] |= 1 << (i % 64) }

func (b bitset) has(i int) bool { return b[i/64]>>(i%64)&1 != 0 }

// count returns the number of members.
func (b bitset) count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// next returns the smallest member that is at least i, or -1.
func (b bitset) next(i int) int {
	w := i / 64
	if w >= len(b) {
		return -1
	}
	word := b[w] >> (i % 64) << (i % 64)
	for word == 0 {
		if w++; w == len(b) {
			return -1
		}
		word = b[w]
	}
	return w*64 + bits.TrailingZeros64(word)
}

// intersectBitsets returns the members of both sets; nil means all numbers.
func intersectBitsets(a, b bitset) bitset {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	out := make(bitset, len(a))
	for i := range a {
		out[i] = a[i] & b[i]
	}
	return out
}

// unionBitsets returns the members of either set; nil means all numbers.
func unionBitsets(a, b bitset) bitset {
	if a == nil || b == nil {
		return nil
	}
	out := make(bitset, len(a))
	for i := range a {
		out[i] = a[i] | b[i]
	}
	return out
}
