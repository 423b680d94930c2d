package embeddedlog

import (
	"bytes"
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Bounds of one read from Pebble. A waiting reader keeps no iterator, because an iterator
// would keep files from being deleted.
const (
	maxChunkRecords = 512
	maxChunkBytes   = 1 << 20
)

// reader reads one partition. It implements eventlog.Reader.
type reader struct {
	log       *Log
	partition *partition
	next      event.Offset
	chunk     []event.Record // prefetched records, starting at next
	closed    bool
}

// Tail implements eventlog.Log.
func (l *Log) Tail(_ context.Context, name event.Topic, number int32, from event.Offset) (eventlog.Reader, error) {
	r, err := l.openReader(name, number, from, false)
	if err != nil {
		return nil, fmt.Errorf("tail %s/%d from %d: %w", name, number, from, err)
	}
	return r, nil
}

// openReader opens a reader of a partition, for a member of a group or another caller.
func (l *Log) openReader(name event.Topic, number int32, from event.Offset, member bool) (*reader, error) {
	p, err := l.partitionOf(name, number)
	if err != nil {
		return nil, err
	}
	first, end := p.offsetRange()
	if from == 0 && member {
		from = first
	}
	if from, err = event.CheckStart(name, from, first, end); err != nil {
		return nil, err
	}
	return &reader{log: l, partition: p, next: from}, nil
}

// Next implements eventlog.Reader.
func (r *reader) Next(ctx context.Context) (event.Record, error) {
	for len(r.chunk) == 0 {
		if err := r.awaitRecord(ctx); err != nil {
			return event.Record{}, err
		}
		if err := r.fillChunk(); err != nil {
			return event.Record{}, fmt.Errorf("read %s/%d at %d: %w", r.partition.topic, r.partition.number, r.next, r.log.explainDamage(err))
		}
	}
	rec := r.chunk[0]
	r.chunk = r.chunk[1:]
	r.next = rec.Position.Offset + 1
	return rec, nil
}

// Close implements eventlog.Reader.
func (r *reader) Close() error {
	r.closed, r.chunk = true, nil
	return nil
}

// awaitRecord returns when there is a record at next.
func (r *reader) awaitRecord(ctx context.Context) error {
	if r.closed {
		return fmt.Errorf("read from a closed reader: %w", eventlog.ErrClosed)
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		end, grown := r.partition.endOffset()
		if r.next < end {
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
		case <-r.log.closing:
			return eventlog.ErrClosed
		}
	}
}

// fillChunk reads the next durable records.
func (r *reader) fillChunk() error {
	release, err := r.log.acquireDB()
	if err != nil {
		return err
	}
	defer release()
	end, _ := r.partition.endOffset()
	it, err := r.log.db.NewIter(&pebble.IterOptions{
		LowerBound: appendOffset(r.partition.prefix, r.next),
		UpperBound: appendOffset(r.partition.prefix, end),
	})
	if err != nil {
		return err
	}
	r.chunk, err = readChunk(it, r.partition)
	if closeErr := it.Close(); err == nil {
		err = closeErr
	}
	if err == nil && (len(r.chunk) == 0 || r.chunk[0].Position.Offset != r.next) {
		err = r.explainMissing()
	}
	if err != nil {
		r.chunk = nil
		return err
	}
	r.log.metrics.readRecords.Add(float64(len(r.chunk)))
	return nil
}

// explainMissing returns an error that explains why there is no record at next.
func (r *reader) explainMissing() error {
	if first, end := r.partition.offsetRange(); r.next < first {
		return &event.RangeError{First: first, End: end} // trimmed in the meantime
	}
	return fmt.Errorf("%w: offset is missing", errCorrupt)
}

func readChunk(it *pebble.Iterator, p *partition) ([]event.Record, error) {
	var chunk []event.Record
	size := 0
	for ok := it.First(); ok && len(chunk) < maxChunkRecords && size < maxChunkBytes; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, err
		}
		size += len(value)
		// Cloned, because the record's slices must stay valid after the iterator
		// moves on.
		rec, err := decodeFrame(bytes.Clone(value))
		if err != nil {
			return nil, err
		}
		rec.Position = event.Position{Topic: p.topic, Partition: p.number, Offset: offsetOf(it.Key())}
		chunk = append(chunk, rec)
	}
	return chunk, it.Error()
}
