package store

import (
	"bytes"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Iterator iterates over keys in order, within its bounds. Its positioning methods report
// whether it is at a key; when they return false, the caller must check Err. Key and
// Value are valid until the next move.
type Iterator struct {
	s     *Store
	it    *pebble.Iterator
	limit []byte // of Find
}

func (s *Store) newIterator(g getter, lo, hi []byte) (*Iterator, error) {
	it, err := g.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		return nil, fmt.Errorf("store: iterate from %q: %w", lo, s.explainDamage(err))
	}
	return &Iterator{s: s, it: it}, nil
}

// First moves to the first key.
func (i *Iterator) First() bool { return i.it.First() }

// Last moves to the last key.
func (i *Iterator) Last() bool { return i.it.Last() }

// Next moves to the next key.
func (i *Iterator) Next() bool { return i.it.Next() }

// Prev moves to the previous key.
func (i *Iterator) Prev() bool { return i.it.Prev() }

// SeekGE moves to the first key at or after key. An ascending sequence of seeks is cheap,
// because each continues from the last.
func (i *Iterator) SeekGE(key []byte) bool { return i.it.SeekGE(key) }

// Find moves to a key and reports whether it exists. Unlike SeekGE, it does not first try
// the keys that follow the current one: where each value has a table block, that reads up
// to four blocks for nothing.
func (i *Iterator) Find(key []byte) bool {
	// With a limit, Pebble seeks in the index of the table at once.
	i.limit = append(append(i.limit[:0], key...), 0)
	return i.it.SeekGEWithLimit(key, i.limit) == pebble.IterValid && bytes.Equal(i.it.Key(), key)
}

// SeekLT moves to the last key before key.
func (i *Iterator) SeekLT(key []byte) bool { return i.it.SeekLT(key) }

// Key returns the current key.
func (i *Iterator) Key() []byte { return i.it.Key() }

// Value returns the current value, or nil after an error.
func (i *Iterator) Value() []byte { return i.it.Value() }

// Err returns the error that ended the iteration, if any.
func (i *Iterator) Err() error { return i.s.explainDamage(i.it.Error()) }

// Close releases the iterator and returns the error that ended the iteration, if any.
func (i *Iterator) Close() error { return i.s.explainDamage(i.it.Close()) }
