package store

import "github.com/cockroachdb/pebble/v2"

// Cache is a block cache for several stores: versions of the projections that are
// open together take no more memory than one.
type Cache struct{ c *pebble.Cache }

// NewCache returns a cache of that many bytes. The caller closes it, before or
// after the stores.
func NewCache(bytes int64) *Cache { return &Cache{pebble.NewCache(bytes)} }

// Close gives the memory back once no store uses it any more.
func (c *Cache) Close() error {
	c.c.Unref()
	return nil
}

// pebbleCache returns Pebble's cache, nil for none.
func (c *Cache) pebbleCache() *pebble.Cache {
	if c == nil {
		return nil
	}
	return c.c
}
