package store

import "github.com/cockroachdb/pebble/v2"

// Snapshot contains the store's rows at the time of its creation. Segments are the
// exception: Excise also removes them from snapshots, so readers of a segment must
// prevent that by other means.
type Snapshot struct {
	s  *Store
	sn *pebble.Snapshot
}

var _ Reader = (*Snapshot)(nil)

// NewSnapshot returns a snapshot, which the caller must close. Creating one takes
// microseconds. While it is open, overwritten rows are not removed.
func (s *Store) NewSnapshot() *Snapshot { return &Snapshot{s, s.db.NewSnapshot()} }

// Read implements Reader.
func (s *Snapshot) Read(key []byte) ([]byte, bool, error) { return s.s.read(s.sn, key) }

// Iter implements Reader.
func (s *Snapshot) Iter(lo, hi []byte) (*Iterator, error) { return s.s.newIterator(s.sn, lo, hi) }

// Close releases the snapshot.
func (s *Snapshot) Close() error { return s.sn.Close() }
