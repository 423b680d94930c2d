package event

import (
	"context"
	"errors"
	"iter"
)

// Reader reads one partition of a log in order. It is not safe for concurrent use.
type Reader interface {
	// Next blocks until a record is available, ctx ends or the log is closed. The slices
	// of the record stay valid indefinitely.
	Next(ctx context.Context) (Record, error)
	// Close releases the reader.
	Close() error
}

// AnyPartition, passed to an append, lets the driver of the log choose the partition by key.
const AnyPartition int32 = -1

// ErrOffsetOutOfRange means that a read starts before the oldest record that is kept, or
// after the high-water mark.
var ErrOffsetOutOfRange = errors.New("offset is out of range")

// Tailer opens a Reader of a partition at an offset; 0 is the oldest available record.
type Tailer interface {
	Tail(ctx context.Context, topic Topic, partition int32, from Offset) (Reader, error)
}

// ReadRange yields the records of a partition from offset from up to, but not including,
// offset end, which must not exceed the high-water mark. Offsets may be missing. If those
// just before end are, ReadRange ends at the first record at or above end, and waits for
// one if the log ends with the gap. It yields an error once and then ends.
func ReadRange(ctx context.Context, log Tailer, topic Topic, partition int32, from, end Offset) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if from >= end {
			return
		}
		reader, err := log.Tail(ctx, topic, partition, from)
		if err != nil {
			yield(Record{}, err)
			return
		}
		defer func() { _ = reader.Close() }() // nothing was written
		for next := from; next < end; {
			rec, err := reader.Next(ctx)
			if err != nil {
				yield(Record{}, err)
				return
			}
			next = rec.Position.Offset + 1
			if next > end || !yield(rec, nil) {
				return
			}
		}
	}
}
