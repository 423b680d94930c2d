package store

import "github.com/cockroachdb/pebble/v2"

// Snapshot is the store's rows at the time it was made. Segments are the exception:
// an excise removes them from snapshots too, so a reader of a segment holds it by
// other means.
type Snapshot struct {
	s  *Store
	sn *pebble.Snapshot
}

var _ Reader = (*Snapshot)(nil)

// NewSnapshot returns a snapshot; the caller closes it. It costs microseconds,
// and holds back the removal of overwritten rows while it is open.
func (s *Store) NewSnapshot() *Snapshot { return &Snapshot{s, s.db.NewSnapshot()} }

// Read implements Reader.
func (s *Snapshot) Read(key []byte) ([]byte, bool, error) { return s.s.read(s.sn, key) }

// Iter implements Reader.
func (s *Snapshot) Iter(lo, hi []byte) (*Iterator, error) { return s.s.newIterator(s.sn, lo, hi) }

// Close releases the snapshot.
func (s *Snapshot) Close() error { return s.sn.Close() }
