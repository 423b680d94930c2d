package lru

import "container/list"

// Cache stores values by key. Use New to create one; the zero value is not usable.
type Cache[K comparable, V any] struct {
	limit, weight int64
	elements      map[K]*list.Element
	order         *list.List // of *entry[K, V], most recently used first
}

type entry[K comparable, V any] struct {
	key    K
	value  V
	weight int64
}

// New returns a Cache whose values have a total weight of at most limit.
func New[K comparable, V any](limit int64) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, elements: map[K]*list.Element{}, order: list.New()}
}

// Get returns the value for a key and marks it as used.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	e := c.elements[key]
	if e == nil {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// Put stores a value, replacing any value for the same key, and evicts values beyond the
// limit.
func (c *Cache[K, V]) Put(key K, value V, weight int64) {
	c.Delete(key)
	if weight > c.limit {
		return
	}
	c.elements[key] = c.order.PushFront(&entry[K, V]{key, value, weight})
	for c.weight += weight; c.weight > c.limit; {
		c.remove(c.order.Back())
	}
}

// Delete removes the value for a key, if there is one.
func (c *Cache[K, V]) Delete(key K) {
	if e := c.elements[key]; e != nil {
		c.remove(e)
	}
}

func (c *Cache[K, V]) remove(e *list.Element) {
	dropped := c.order.Remove(e).(*entry[K, V])
	delete(c.elements, dropped.key)
	c.weight -= dropped.weight
}

// Len returns the number of values in the cache.
func (c *Cache[K, V]) Len() int { return len(c.elements) }

// Weight returns the total weight of the values in the cache.
func (c *Cache[K, V]) Weight() int64 { return c.weight }
