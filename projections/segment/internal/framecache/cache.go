package framecache

import (
	"math/bits"
)

// maxShards bounds the number of locks; shardSlots is the minimum number of slots per
// shard.
const (
	maxShards  = 16
	shardSlots = 64
)

// Key identifies a frame: the upper half is its reader, the lower half its number. It
// must not be 0.
type Key uint64

// spreadBits mixes the bits of a key. The upper bits select the shard, the lower ones the
// ghost.
func (k Key) spreadBits() uint64 {
	h := uint64(k) * 0x9e3779b97f4a7c15
	return h ^ h>>32
}

// Options of New.
type Options struct {
	// FrameBytes is the size of a slot: the largest frame.
	FrameBytes int
	// LimitBytes bounds the memory, but there is at least one slot.
	LimitBytes int
	// Poison overwrites the bytes of reused slots, for tests. It is always on with the
	// race detector.
	Poison bool
}

// Cache caches frames.
type Cache struct {
	shards []shard
	memory []byte
	free   func([]byte) error
	shift  int // of a key's upper bits, to select its shard
}

// New returns a Cache. Its memory is reserved, but allocated only as it fills.
func New(o Options) *Cache {
	slots := max(o.LimitBytes/o.FrameBytes, 1)
	shards := 1
	for shards < maxShards && slots/(2*shards) >= shardSlots {
		shards *= 2
	}
	c := &Cache{shards: make([]shard, shards), shift: 64 - bits.TrailingZeros(uint(shards))}
	c.memory, c.free = reserveMemory(slots * o.FrameBytes)
	at := 0
	for i := range c.shards {
		end := slots * (i + 1) / shards
		c.shards[i].init(c.memory[at*o.FrameBytes:end*o.FrameBytes], o.FrameBytes, o.Poison || raceEnabled)
		at = end
	}
	return c
}

func (c *Cache) shardOf(k Key) *shard { return &c.shards[k.spreadBits()>>c.shift] }

// Pin returns a hold of the frame of a key, if it is in the cache.
func (c *Cache) Pin(k Key) (Hold, bool) { return c.shardOf(k).pinFrame(k) }

// Reserve returns a hold of a slot for a frame of that many bytes, which Pin does not
// find yet. It fails if all slots are held.
func (c *Cache) Reserve(k Key, size int) (Hold, bool) { return c.shardOf(k).reserveSlot(k, size) }

// Close releases the memory. Afterwards the cache has no room and finds no frames. If a
// frame is still held, the memory is not released: a leak is better than a fault.
func (c *Cache) Close() error {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.heldLocked() > 0 {
			return nil
		}
	}
	memory := c.memory
	if c.memory = nil; memory == nil {
		return nil
	}
	for i := range c.shards {
		c.shards[i].emptyLocked()
	}
	return c.free(memory)
}

// Stats holds statistics of a Cache since its creation.
type Stats struct {
	Hits, Misses, Evictions uint64
	Bytes                   int // currently allocated
	Held                    int // current number of holds
}

// Stats returns statistics of the cache.
func (c *Cache) Stats() Stats {
	var t Stats
	for i := range c.shards {
		c.shards[i].addTo(&t)
	}
	return t
}

// Hold keeps a frame in its slot. The zero Hold holds no frame.
type Hold struct {
	shard *shard
	index uint32
}

// Bytes returns the frame. It may be modified until it is published, and is valid until
// Release.
func (h Hold) Bytes() []byte {
	at := int(h.index) * h.shard.frameBytes
	return h.shard.memory[at : at+int(h.shard.slots[h.index].size) : at+h.shard.frameBytes]
}

// Publish makes the frame available under the key for which it was reserved. If another
// goroutine was faster, that goroutine's frame is used instead.
func (h Hold) Publish(k Key) { h.shard.publishFrame(k, h.index) }

// Release ends the hold. It is a no-op for the zero Hold. A second call panics, because
// the slot may contain another frame by then.
func (h Hold) Release() {
	if h.shard != nil && h.shard.slots[h.index].holds.Add(-1) < 0 {
		panic("framecache: released twice")
	}
}
