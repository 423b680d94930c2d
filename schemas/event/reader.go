package event

import (
	"context"
	"errors"
	"fmt"
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

// A RangeError reports a read that begins outside of the records of a partition, which are those
// from First to End. It matches ErrOffsetOutOfRange.
type RangeError struct{ First, End Offset }

// Error implements error.
func (e *RangeError) Error() string {
	return fmt.Sprintf("%s: want %d to %d", ErrOffsetOutOfRange, e.First, e.End)
}

// Is implements the interface of errors.Is.
func (e *RangeError) Is(target error) bool { return target == ErrOffsetOutOfRange }

// CheckStart returns the offset at which a read from an offset begins in a partition with the
// records from first to end, or a RangeError. Offset 0 means the oldest record, unless the topic
// is kept whole and its first record was deleted.
func CheckStart(topic Topic, from, first, end Offset) (Offset, error) {
	if from == 0 && !topic.KeptWhole() {
		from = first
	}
	if from < first || from > end {
		return 0, &RangeError{first, end}
	}
	return from, nil
}

// Tailer opens a Reader of a partition at an offset. In a topic that is kept whole, a read from
// offset 0 fails if the first record was deleted; in others, 0 is the oldest available record.
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
