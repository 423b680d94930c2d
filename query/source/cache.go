package source

import (
	"sync"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/lru"
)

// cacheKey identifies a result that never changes: it consists of hashes, paths and
// filters.
type cacheKey struct {
	operation string
	id        code.RepositoryID
	commit    code.CommitID
	path      string
	// query is the rest of a log query, without its page.
	query LogQuery
}

// cache is a least-recently-used cache that is bounded in bytes.
type cache struct {
	mu struct {
		sync.Mutex
		answers *lru.Cache[cacheKey, any]
	}
}

func newCache(limitBytes int64) *cache {
	c := &cache{}
	c.mu.answers = lru.New[cacheKey, any](limitBytes)
	return c
}

func (c *cache) get(key cacheKey) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.answers.Get(key)
}

// entryOverhead is the size of a key and its map and list entries, without the strings.
const entryOverhead = 400

func (c *cache) put(key cacheKey, value any, bytes int64) {
	bytes += entryOverhead + int64(len(key.path)+len(key.query.Path)+len(key.query.Message)+len(key.query.Author))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.answers.Put(key, value, bytes)
}

func (c *cache) remove(key cacheKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.answers.Delete(key)
}

func (c *cache) sizeBytes() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return float64(c.mu.answers.Weight())
}
