package source

import (
	"container/list"
	"sync"

	"github.com/quarrysearch/quarry/schemas/code"
)

// cacheKey names an answer that never changes: everything in it is a hash, a
// path or a filter.
type cacheKey struct {
	operation string
	id        code.RepositoryID
	commit    code.CommitID
	path      string
	// query is the rest of a log query: its page aside.
	query LogQuery
}

// cache keeps answers within a bound in bytes; those used last stay.
type cache struct {
	limit int64
	mu    struct {
		sync.Mutex
		entries map[cacheKey]*list.Element
		order   *list.List // most recently used first
		bytes   int64
	}
}

type cacheEntry struct {
	key   cacheKey
	value any
	bytes int64
}

func newCache(limitBytes int64) *cache {
	c := &cache{limit: limitBytes}
	c.mu.entries, c.mu.order = make(map[cacheKey]*list.Element), list.New()
	return c
}

func (c *cache) get(key cacheKey) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.mu.entries[key]
	if !ok {
		return nil, false
	}
	c.mu.order.MoveToFront(e)
	return e.Value.(*cacheEntry).value, true
}

// entryOverhead is what a key and its places in map and list take, its texts
// aside.
const entryOverhead = 400

func (c *cache) put(key cacheKey, value any, bytes int64) {
	bytes += entryOverhead + int64(len(key.path)+len(key.query.Path)+len(key.query.Message)+len(key.query.Author))
	if bytes > c.limit {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.mu.entries[key]; ok {
		return
	}
	c.mu.entries[key] = c.mu.order.PushFront(&cacheEntry{key, value, bytes})
	for c.mu.bytes += bytes; c.mu.bytes > c.limit; {
		last := c.mu.order.Remove(c.mu.order.Back()).(*cacheEntry)
		delete(c.mu.entries, last.key)
		c.mu.bytes -= last.bytes
	}
}

func (c *cache) sizeBytes() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return float64(c.mu.bytes)
}
