package event

import (
	"context"
	"iter"
)

// Reader reads one partition of a log in order. It is used by one goroutine at a time.
type Reader interface {
	// Next blocks until a record is available, ctx ends or the log is closed. The
	// record's slices stay valid indefinitely.
	Next(ctx context.Context) (Record, error)
	// Close releases the reader.
	Close() error
}

// Tailer opens a Reader of a partition at an offset; 0 is the oldest record kept.
type Tailer interface {
	Tail(ctx context.Context, topic Topic, partition int32, from Offset) (Reader, error)
}

// ReadRange yields the records of a partition from one offset up to, and not
// including, another, which is not above the high-water mark. Offsets may be missing:
// if those before end are, it still ends when a record at or above end comes, so it
// waits for one if the log ends with a gap. An error is yielded once and ends it.
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
		defer func() { _ = reader.Close() }() // it was read only
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
