package indexer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/quarrysearch/quarry/schemas/event"
)

// markEvery is the number of records of a partition between two marks. It bounds the
// records that are read again after a start.
const markEvery = 64

// mark records that the mirrors are current with a partition up to an offset. It is
// stored and lost with the mirrors. Without it, Assigned reads the partition from its
// beginning. It is derived from committed offsets: a record above the low-water mark is
// also announced above it.
type mark struct {
	Next event.Offset `json:"next"`
	// Last is the hash of the record before Next, which identifies the log.
	Last []byte `json:"last"`
}

func markName(topic event.Topic, partition int32) string {
	return fmt.Sprintf("%s-%d.json", topic, partition)
}

func hashOf(rec *event.Record) []byte {
	h := sha256.New()
	h.Write(rec.Key)
	h.Write([]byte{0})
	h.Write(rec.Value)
	return h.Sum(nil)
}

// Committed implements worker.Handler: every record up to and including rec is done, and
// its results are in the mirrors. After every markEvery records, it saves a mark for the
// next process.
func (x *Indexer) Committed(rec event.Record) {
	next := rec.Position.Offset + 1
	if !x.partitions.advanceMark(rec.Position.Partition, next, x.markEvery) {
		return
	}
	b, err := json.Marshal(mark{next, hashOf(&rec)})
	if err == nil {
		err = x.o.Mirrors.SetNote(markName(rec.Position.Topic, rec.Position.Partition), b)
	}
	if err != nil {
		x.o.Logger.Warn("the position of the mirrors in the log could not be saved; the next start reads more of the log", "error", err)
	}
}

// readMark returns the offset from which to catch up with the log before the record at is
// handled: the mark, if there is one for this log. A mark past that record is ignored:
// announcements that overtake the record may lie below it.
func (x *Indexer) readMark(ctx context.Context, at event.Position) (event.Offset, error) {
	b, err := x.o.Mirrors.Note(markName(at.Topic, at.Partition))
	if err != nil {
		return 0, nil // there is no mark
	}
	var m mark
	if err := json.Unmarshal(b, &m); err != nil || m.Next <= 0 || m.Next > at.Offset+1 {
		return 0, nil
	}
	for rec, err := range event.ReadRange(ctx, x.o.Log, at.Topic, at.Partition, m.Next-1, m.Next) {
		if err != nil {
			return 0, err
		}
		if bytes.Equal(hashOf(&rec), m.Last) {
			return m.Next, nil
		}
	}
	return 0, nil
}
