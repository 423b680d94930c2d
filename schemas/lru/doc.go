// Package lru provides a cache that evicts the least recently used values.
//
// It answers the question "which value is evicted for a new one?". Each value has a
// weight, such as its size in bytes. The sum of the weights never exceeds the bound: the
// least recently used values are evicted first. A value that is heavier than the bound is
// not stored.
//
// A Cache has no lock. The caller must synchronize access, often with a lock that guards
// more than the cache.
package lru
