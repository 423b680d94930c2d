package logcopy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	// batchRecords and batchBytes bound one append; a batch exceeds batchBytes by at most
	// one record.
	batchRecords = 4096
	batchBytes   = 1 << 20
	// maxBatchWait bounds the read of one batch below the end of a log. It ends a wait for
	// records that are missing at the end, and for brokers that are down.
	maxBatchWait = time.Minute
)

// cursor reads the records of a partition without gaps.
type cursor struct {
	reader    eventlog.Reader
	topic     event.Topic
	partition int32
	next      event.Offset
}

func openCursor(ctx context.Context, log eventlog.Log, p *Partition, from event.Offset) (*cursor, error) {
	reader, err := log.Tail(ctx, p.Topic, p.Partition, from)
	if err != nil {
		return nil, err
	}
	return &cursor{reader, p.Topic, p.Partition, from}, nil
}

func (r *cursor) close() { _ = r.reader.Close() } // nothing was written

// readBatch returns the next records below end, at least one.
func (r *cursor) readBatch(ctx context.Context, end event.Offset) (batch []event.Record, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxBatchWait)
	defer cancel()
	for size := 0; r.next < end && len(batch) < batchRecords && size < batchBytes; {
		rec, err := r.read(ctx)
		if err != nil {
			return nil, err
		}
		size += rec.SizeBytes()
		batch = append(batch, rec)
	}
	return batch, nil
}

// read returns the next record. A gap in the offsets is ErrRefused.
func (r *cursor) read(ctx context.Context) (event.Record, error) {
	rec, err := r.reader.Next(ctx)
	if err != nil {
		return rec, r.explainError(err)
	}
	if rec.Position.Offset != r.next {
		return rec, fmt.Errorf("%w: %s/%d has no record at offset %d, the next one is at %d: a copy cannot leave out an offset",
			ErrRefused, r.topic, r.partition, r.next, rec.Position.Offset)
	}
	r.next++
	return rec, nil
}

// explainError explains an error of the reader.
func (r *cursor) explainError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no record of %s/%d at offset %d within %v, although the log ends later: %w", r.topic, r.partition, r.next, maxBatchWait, err)
	}
	return err
}
