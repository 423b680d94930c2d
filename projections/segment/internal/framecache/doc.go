// Package framecache caches decompressed frames of text in memory of a fixed size,
// outside the garbage collector's heap if the system can map memory.
//
// It answers the question "how is text cached so that it takes the configured memory, and
// not half as much again?". Frames in the heap would let it grow by the garbage
// collector's percentage of their size before a collection starts.
//
// A Cache is divided into slots of one frame each. Pin finds a frame. Reserve returns a
// slot for a new one, which its reader fills and then publishes. Both return a Hold,
// until whose release the slot keeps its bytes. Finding a frame neither copies nor
// allocates memory.
//
// # Which frames stay
//
// Each shard has two queues of slots. New frames enter the first queue, which has half of
// the slots. Frames that are requested again before they reach its end move to the second
// queue; the others are evicted. An evicted frame that is soon requested again enters the
// second queue directly. There it stays for as many rounds as it was requested since the
// last round, at most maxHits. So a full scan passes through half of the cache and leaves
// the rest to frames in repeated use (Yang et al., "FIFO queues are all you need for
// cache eviction", 2023).
//
// # Invariants
//
//  1. The memory never exceeds the limit of New, rounded down to whole frames.
//  2. A held slot is not reused, and its bytes do not change once it is published.
//  3. A slot is in exactly one of the two queues from its first use on.
//  4. The index contains a slot under the slot's own key, and only after it is published.
//
// A Hold that is never released costs its slot forever; Stats counts the open holds. With
// the race detector or Options.Poison, the bytes of a slot are overwritten when it is
// reused, so that a reader that outlives its Hold immediately reads garbage.
//
// All types are safe for concurrent use, except Hold.
package framecache
