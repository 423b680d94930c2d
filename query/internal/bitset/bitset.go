// Package bitset provides sets of small numbers, such as places and documents of one
// segment.
package bitset

import "math/bits"

// A Set is a set of numbers from 0 up, one bit each. It has the size that New was given,
// rounded up to 64; Add and Has panic beyond it. Where a function documents it, a nil Set
// means all numbers. A Set may be read concurrently.
type Set []uint64

// New returns an empty set for the numbers below n.
func New(n int) Set { return make(Set, (n+63)/64) }

// Add adds a number.
func (s Set) Add(i int) { s[i/64] |= 1 << (i % 64) }

// AddRange adds the numbers from from up to to.
func (s Set) AddRange(from, to int) {
	for from < to {
		end := min((from/64+1)*64, to)
		s[from/64] |= ^uint64(0) >> (64 - (end - from)) << (from % 64)
		from = end
	}
}

// Has reports whether a number is a member.
func (s Set) Has(i int) bool { return s[i/64]>>(i%64)&1 != 0 }

// Count returns the number of members.
func (s Set) Count() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// Next returns the smallest member that is at least i, or -1.
func (s Set) Next(i int) int {
	w := i / 64
	if w >= len(s) {
		return -1
	}
	word := s[w] >> (i % 64) << (i % 64)
	for word == 0 {
		if w++; w == len(s) {
			return -1
		}
		word = s[w]
	}
	return w*64 + bits.TrailingZeros64(word)
}

// Intersection returns the members of both sets; nil means all numbers.
func Intersection(a, b Set) Set {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	out := make(Set, len(a))
	for i := range a {
		out[i] = a[i] & b[i]
	}
	return out
}

// Union returns the members of either set; nil means all numbers.
func Union(a, b Set) Set {
	if a == nil || b == nil {
		return nil
	}
	out := make(Set, len(a))
	for i := range a {
		out[i] = a[i] | b[i]
	}
	return out
}

// Complement returns the numbers that are not in s, up to its size rounded up to 64: callers
// must ignore the numbers beyond the size. s must not be nil.
func Complement(s Set) Set {
	out := make(Set, len(s))
	for i := range s {
		out[i] = ^s[i]
	}
	return out
}
