package segment

import (
	"container/list"
	"sync"
)

// DefaultCacheBytes bounds a Cache that was made with 0.
const DefaultCacheBytes = 256 << 20

const cacheShards = 16

// A Cache keeps decompressed frames, least recently used out first, up to a
// bound of bytes over all segments. It is safe for concurrent use.
type Cache struct {
	shards [cacheShards]cacheShard
	limit  int
}

// framesForOne is how many frames one Text may add to the cache: a quarter of it.
// What looks here and there is quick the next time; a scan that reads more
// decompresses into buffers of its own and leaves the cache to others.
func (c *Cache) framesForOne() int { return c.limit / 4 / FrameBytes }

type cacheShard struct {
	mu struct {
		sync.Mutex
		entries      map[frameKey]*list.Element
		order        *list.List // most recent first
		bytes        int
		hits, misses uint64
	}
	limit int
}

type frameKey struct {
	id    ID
	frame uint32
}

type cacheEntry struct {
	key  frameKey
	text []byte
}

// NewCache returns a Cache bounded by limitBytes, or by DefaultCacheBytes if
// that is 0.
func NewCache(limitBytes int) *Cache {
	if limitBytes <= 0 {
		limitBytes = DefaultCacheBytes
	}
	c := &Cache{limit: limitBytes}
	for i := range c.shards {
		s := &c.shards[i]
		s.limit = limitBytes / cacheShards
		s.mu.entries, s.mu.order = map[frameKey]*list.Element{}, list.New()
	}
	return c
}

func (c *Cache) shard(k frameKey) *cacheShard {
	return &c.shards[(uint32(k.id[0])^k.frame)%cacheShards]
}

func (c *Cache) get(k frameKey) ([]byte, bool) {
	s := c.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.mu.entries[k]
	if !ok {
		s.mu.misses++
		return nil, false
	}
	s.mu.hits++
	s.mu.order.MoveToFront(e)
	return e.Value.(*cacheEntry).text, true
}

// put adds a frame, which must not be changed afterwards.
func (c *Cache) put(k frameKey, text []byte) {
	s := c.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.mu.entries[k]; ok {
		return
	}
	s.mu.entries[k] = s.mu.order.PushFront(&cacheEntry{k, text})
	s.mu.bytes += cap(text)
	for s.mu.bytes > s.limit && s.mu.order.Len() > 1 {
		last := s.mu.order.Back()
		old := s.mu.order.Remove(last).(*cacheEntry)
		delete(s.mu.entries, old.key)
		s.mu.bytes -= cap(old.text)
	}
}

// CacheStats is what a Cache has seen since it was made.
type CacheStats struct {
	Hits, Misses uint64
	Bytes        int // now
}

// Stats sums up the cache.
func (c *Cache) Stats() CacheStats {
	var t CacheStats
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		t.Hits, t.Misses, t.Bytes = t.Hits+s.mu.hits, t.Misses+s.mu.misses, t.Bytes+s.mu.bytes
		s.mu.Unlock()
	}
	return t
}
