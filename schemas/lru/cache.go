package lru

import "container/list"

// Cache keeps values by key. Only New makes one that is usable.
type Cache[K comparable, V any] struct {
	limit, weight int64
	elements      map[K]*list.Element
	order         *list.List // of *entry[K, V], the one used last in front
}

type entry[K comparable, V any] struct {
	key    K
	value  V
	weight int64
}

// New returns a Cache of values that weigh at most limit together.
func New[K comparable, V any](limit int64) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, elements: map[K]*list.Element{}, order: list.New()}
}

// Get returns the value of a key, which counts as a use.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	e := c.elements[key]
	if e == nil {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// Put keeps a value, in the place of one with the same key, and drops what exceeds the
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

// Delete drops the value of a key, if there is one.
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

// Len returns how many values are kept.
func (c *Cache[K, V]) Len() int { return len(c.elements) }

// Weight returns the sum of their weights.
func (c *Cache[K, V]) Weight() int64 { return c.weight }
