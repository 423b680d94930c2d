package store

import (
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/quarrysearch/quarry/schemas/event"
)

// MaxBatchBytes bounds the data that one record may write. A first import of a million
// files writes about 200 MB; Pebble's own limit is 4 GiB.
const MaxBatchBytes = 2 << 30

// Batch is the effect of one record: the rows that it writes and the checkpoint after it,
// committed atomically. Its reads do not see its own writes: without an index of them,
// writing is five times cheaper, and a large import needs no second copy in memory.
//
// The caller must end a batch with Commit or Close.
type Batch struct {
	s *Store
	b *pebble.Batch
}

var _ Reader = (*Batch)(nil)

// NewBatch returns an empty batch.
func (s *Store) NewBatch() *Batch { return &Batch{s: s, b: s.db.NewBatch()} }

// Read implements Reader.
func (b *Batch) Read(key []byte) ([]byte, bool, error) { return b.s.Read(key) }

// Iter implements Reader.
func (b *Batch) Iter(lo, hi []byte) (*Iterator, error) { return b.s.Iter(lo, hi) }

// Set writes a row. The batch does not retain the slices.
func (b *Batch) Set(key, value []byte) error {
	if key[0] == byte(FamilySegments) {
		panic("store: a batch writes no segment: IngestSegment does")
	}
	if b.b.Len()+len(key)+len(value) > MaxBatchBytes {
		return fmt.Errorf("store: the record writes more than %d bytes", int64(MaxBatchBytes))
	}
	return b.b.Set(key, value, nil)
}

// Delete removes a row if it exists.
func (b *Batch) Delete(key []byte) error { return b.b.Delete(key, nil) }

// DeleteRange removes the rows from lo (inclusive) to hi (exclusive).
func (b *Batch) DeleteRange(lo, hi []byte) error { return b.b.DeleteRange(lo, hi, nil) }

// SetCheckpoint records that every record of event.TopicEvents below next is applied in
// partition.
func (b *Batch) SetCheckpoint(partition int32, next event.Offset) error {
	return b.SetTopicCheckpoint(event.TopicEvents, partition, next)
}

// SetTopicCheckpoint is a SetCheckpoint for any topic.
func (b *Batch) SetTopicCheckpoint(topic event.Topic, partition int32, next event.Offset) error {
	return b.b.Set(checkpointKey(topic, partition), binary.BigEndian.AppendUint64(nil, uint64(next)), nil)
}

// SetSchema records the schema version of the rows that the projection writes.
func (b *Batch) SetSchema(projection string, version int) error {
	return b.b.Set(schemaKey(projection), binary.BigEndian.AppendUint32(nil, uint32(version)), nil)
}

// Commit applies the batch and ends it. It does not wait for the disk; see "Durability"
// in the package documentation.
func (b *Batch) Commit() error {
	if err := b.b.Commit(pebble.NoSync); err != nil {
		return fmt.Errorf("store: commit: %w", err)
	}
	return b.b.Close()
}

// Close discards the batch if it was not committed.
func (b *Batch) Close() error { return b.b.Close() }
