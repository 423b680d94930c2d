package worker

import (
	"context"
	"errors"

	"github.com/quarrysearch/quarry/schemas/event"
)

// Errors that a Handler wraps to say what its failure means.
var (
	// ErrPermanent says that trying again is no use.
	ErrPermanent = errors.New("permanent failure")
	// ErrUnavailable says that something every record needs is missing for now.
	ErrUnavailable = errors.New("unavailable for now")
	// ErrElsewhere says that something the records of this key need is missing for
	// now, which is no fault of theirs: a code host does not answer.
	ErrElsewhere = errors.New("does not answer for now")
)

// A Handler handles the records of all partitions; it is called by several
// goroutines.
type Handler interface {
	// Assigned is called when a partition was assigned, with the position of the
	// first record read of it, before any is handled. It is called again, with
	// waits, until it succeeds or the partition is taken away.
	Assigned(ctx context.Context, first event.Position) error
	// Wants reports, from a record's headers, whether Handle has anything to do.
	Wants(rec event.Record) bool
	// Handle does the work of the first n of records, at least one; they have one
	// key and are in order. The error is about these n, the others are passed
	// again. A repetition must be harmless. The context ends when the worker stops,
	// when the handling takes too long (call ReportProgress) or when a removal is
	// read; Handle then returns at once.
	Handle(ctx context.Context, records []event.Record) (n int, err error)
	// Skip answers the first n of records, at least one, without handling them, for a
	// removal follows; they have one key and are in order. A call of Handle for some
	// of them may have begun. The error is about these n. A repetition must be
	// harmless.
	Skip(ctx context.Context, records []event.Record) (n int, err error)
	// Committed is called after a commit: rec and all before it in its partition
	// are done. It is not called for every record.
	Committed(rec event.Record)
}

// Pressure reports how far the projections lag behind the log.
type Pressure interface {
	// Behind returns the number of records in the log that are not applied yet.
	Behind(ctx context.Context) (records int64, err error)
}
