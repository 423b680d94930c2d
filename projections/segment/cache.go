package segment

import (
	"sync/atomic"

	"github.com/quarrysearch/quarry/projections/segment/internal/framecache"
)

// DefaultCacheBytes is the default bound of a Cache.
const DefaultCacheBytes = 256 << 20

// Cache caches decompressed frames and groups of symbols of all readers that were opened with
// it, in a bounded amount of memory outside the Go heap, which Close releases. It is safe for
// concurrent use.
type Cache struct {
	frames *framecache.Cache
	limit  int
	// readers counts the opened readers. The count makes the keys of each reader unique.
	readers atomic.Uint32
}

// NewCache returns a Cache that is bounded by limitBytes, or by DefaultCacheBytes if that
// is 0.
func NewCache(limitBytes int) *Cache {
	if limitBytes <= 0 {
		limitBytes = DefaultCacheBytes
	}
	return &Cache{limit: limitBytes, frames: framecache.New(framecache.Options{FrameBytes: FrameBytes, LimitBytes: limitBytes})}
}

// Close releases the memory. No reader of the cache may be used any more.
func (c *Cache) Close() error { return c.frames.Close() }

// CacheStats holds statistics of a Cache since its creation.
type CacheStats = framecache.Stats

// Stats returns statistics of the cache.
func (c *Cache) Stats() CacheStats { return c.frames.Stats() }

// framesForOne returns the number of frames that one Text, or of groups that one Outline, may
// add to the cache: a quarter of it. Sparse reads are fast the next time; a scan that reads more decompresses into
// its own buffers, which stay in the processor's caches.
func (c *Cache) framesForOne() int { return c.limit / 4 / FrameBytes }

// nextReader returns the upper half of the keys of another reader, or 0 without a cache.
func (c *Cache) nextReader() uint32 {
	if c == nil {
		return 0
	}
	return c.readers.Add(1)
}

// frameKey returns the cache key of a frame of the reader.
func (r *Reader) frameKey(n int) framecache.Key {
	return framecache.Key(r.number)<<32 | framecache.Key(n)
}

// groupKey returns the cache key of a group of symbols of the reader. A number of a frame is
// smaller than its upper bit.
func (r *Reader) groupKey(n int) framecache.Key { return r.frameKey(n) | 1<<31 }
