package segment

import (
	"sync/atomic"

	"github.com/quarrysearch/quarry/projections/segment/internal/framecache"
)

// DefaultCacheBytes bounds a Cache that was made with 0.
const DefaultCacheBytes = 256 << 20

// A Cache keeps decompressed frames of all readers that were opened with it, up
// to a bound of bytes that it takes outside the Go heap, and gives back on Close.
// It is safe for concurrent use.
type Cache struct {
	frames *framecache.Cache
	limit  int
	// readers counts those that were opened, which gives each its keys.
	readers atomic.Uint32
}

// NewCache returns a Cache bounded by limitBytes, or by DefaultCacheBytes if
// that is 0.
func NewCache(limitBytes int) *Cache {
	if limitBytes <= 0 {
		limitBytes = DefaultCacheBytes
	}
	return &Cache{limit: limitBytes, frames: framecache.New(framecache.Options{FrameBytes: FrameBytes, LimitBytes: limitBytes})}
}

// Close gives the memory back. No reader of the cache may be used any more.
func (c *Cache) Close() error { return c.frames.Close() }

// CacheStats is what a Cache has seen since it was made.
type CacheStats = framecache.Stats

// Stats sums up the cache.
func (c *Cache) Stats() CacheStats { return c.frames.Stats() }

// framesForOne is how many frames one Text may add to the cache: a quarter of it.
// Sparse reads are fast the next time; a scan that reads more decompresses into its
// own buffers, which stay in the processor's caches.
func (c *Cache) framesForOne() int { return c.limit / 4 / FrameBytes }

// nextReader returns the keys' upper half of another reader; 0 for no cache.
func (c *Cache) nextReader() uint32 {
	if c == nil {
		return 0
	}
	return c.readers.Add(1)
}

// frameKey is the key of a frame in the reader's cache.
func (r *Reader) frameKey(n int) framecache.Key {
	return framecache.Key(r.number)<<32 | framecache.Key(n)
}
