// Package lru keeps the values that were used last, within a bound.
//
// It answers the question "which value gives way to a new one?". Each value has a
// weight, such as its bytes; the sum of the weights never exceeds the bound, because the
// values that were not used for the longest time are dropped first. A value that
// is heavier than the bound is not kept.
//
// A Cache has no lock: its owner has one, which often guards more than the cache.
package lru
