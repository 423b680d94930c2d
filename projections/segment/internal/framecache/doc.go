// Package framecache keeps decompressed frames of text in memory of a fixed
// size, outside the garbage collector's heap where the system can map it.
//
// It answers the question "how is text kept at hand so that it costs what the
// configuration says, and not half as much again?": a heap of frames made the
// collector wait until it had grown by its percentage of them, too.
//
// A Cache is cut into slots of one frame each. Pin finds a frame, Reserve gives
// room for a new one, which its reader fills and then publishes. Both return a
// Hold: while it lasts, the slot keeps its bytes. Nothing is copied and nothing
// allocated when a frame is found.
//
// # Which frames stay
//
// Each shard has two queues of slots. New frames enter the first, half of the
// slots; those that were requested again by the time they reach its end move to the
// second, the others leave. A frame that left and comes back soon enters the second
// at once. There it stays for as many rounds as it was requested since the last, at
// most maxHits. So a scan of everything passes through half of the cache and leaves
// the rest to frames in repeated use (Yang et al., "FIFO queues are all you need
// for cache eviction", 2023).
//
// # Invariants
//
//  1. The memory never exceeds the limit of New, rounded down to whole frames.
//  2. A slot that is held is not given to another frame, and its bytes do not
//     change once it is published.
//  3. A slot is in exactly one of the two queues from its first use on.
//  4. The index names a slot under the slot's own key, and only once it was
//     published.
//
// A Hold that is never released costs its slot forever; Stats counts the open holds. With the race detector on, or Options.Poison, the bytes of a slot are
// spoilt when it is given away: a reader that outlives its Hold reads garbage at
// once.
//
// Everything is safe for concurrent use, but a Hold belongs to one goroutine.
package framecache
