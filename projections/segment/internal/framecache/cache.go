package framecache

import (
	"math/bits"
)

// maxShards bounds the locks; shardSlots is the least number of slots worth one.
const (
	maxShards  = 16
	shardSlots = 64
)

// A Key names a frame: whose it is in the upper half, its number in the lower. It
// is not 0.
type Key uint64

// spreadBits mixes the bits of a key, for shards from above and ghosts from below.
func (k Key) spreadBits() uint64 {
	h := uint64(k) * 0x9e3779b97f4a7c15
	return h ^ h>>32
}

// Options of New.
type Options struct {
	// FrameBytes is the size of a slot: the largest frame.
	FrameBytes int
	// LimitBytes bounds the memory. At least one slot is made.
	LimitBytes int
	// Poison spoils the bytes of slots that are given away, for tests. It is always
	// on under the race detector.
	Poison bool
}

// A Cache keeps frames.
type Cache struct {
	shards []shard
	memory []byte
	free   func([]byte) error
	shift  int // of a key's upper bits, for its shard
}

// New returns a Cache. Its memory is reserved, but taken only as it fills.
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

// Pin returns the frame of a key, held.
func (c *Cache) Pin(k Key) (Hold, bool) { return c.shardOf(k).pinFrame(k) }

// Reserve returns a slot for a frame of that many bytes, held and not yet to be
// found; none if every slot is held.
func (c *Cache) Reserve(k Key, size int) (Hold, bool) { return c.shardOf(k).reserveSlot(k, size) }

// Close gives the memory back. The cache has no room and finds nothing from then
// on. If a frame is still held, all stays as it is: a leak is better than a fault.
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

// Stats is what a Cache has seen since it was made.
type Stats struct {
	Hits, Misses, Evictions uint64
	Bytes                   int // taken, now
	Held                    int // holds, now
}

// Stats sums up the cache.
func (c *Cache) Stats() Stats {
	var t Stats
	for i := range c.shards {
		c.shards[i].addTo(&t)
	}
	return t
}

// A Hold keeps a frame in its slot. The zero Hold keeps none.
type Hold struct {
	shard *shard
	index uint32
}

// Bytes returns the frame. It may be written until it is published, and is valid
// until Release.
func (h Hold) Bytes() []byte {
	at := int(h.index) * h.shard.frameBytes
	return h.shard.memory[at : at+int(h.shard.slots[h.index].size) : at+h.shard.frameBytes]
}

// Publish lets others find the frame under the key it was reserved for. Another
// goroutine may have been quicker: its frame is then the one to be found.
func (h Hold) Publish(k Key) { h.shard.publishFrame(k, h.index) }

// Release ends the hold. It is a no-op for the zero Hold; a second one panics, as
// the slot may contain another frame by then.
func (h Hold) Release() {
	if h.shard != nil && h.shard.slots[h.index].holds.Add(-1) < 0 {
		panic("framecache: released twice")
	}
}
