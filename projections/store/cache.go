package store

import "github.com/cockroachdb/pebble/v2"

// Cache is a block cache for several stores, so that versions of the projections that are
// open at the same time take no more memory than one.
type Cache struct{ c *pebble.Cache }

// NewCache returns a cache of that many bytes. The caller must close it, before or after
// the stores.
func NewCache(bytes int64) *Cache { return &Cache{pebble.NewCache(bytes)} }

// Close releases the memory once no store uses it any more.
func (c *Cache) Close() error {
	c.c.Unref()
	return nil
}

// pebbleCache returns Pebble's cache, or nil for a nil Cache.
func (c *Cache) pebbleCache() *pebble.Cache {
	if c == nil {
		return nil
	}
	return c.c
}
