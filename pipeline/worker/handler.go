package worker

import (
	"context"
	"errors"

	"github.com/quarrysearch/quarry/schemas/event"
)

// Errors that a Handler wraps to classify its failure.
var (
	// ErrPermanent means that a retry cannot succeed.
	ErrPermanent = errors.New("permanent failure")
	// ErrUnavailable means that something every record needs is temporarily missing.
	ErrUnavailable = errors.New("unavailable for now")
	// ErrElsewhere means that something the records of this key need is temporarily
	// missing, through no fault of theirs, such as a code host that does not answer.
	ErrElsewhere = errors.New("does not answer for now")
)

// A Handler handles the records of all partitions. It must be safe for concurrent use.
type Handler interface {
	// Assigned is called when a partition has been assigned, with the position of the
	// first record to be read, before any record is handled. It is retried, with waits,
	// until it succeeds or the partition is revoked.
	Assigned(ctx context.Context, first event.Position) error
	// Wants reports, from a record's headers, whether Handle has anything to do.
	Wants(rec event.Record) bool
	// Handle handles the first n of records, at least one; all of them have the same key
	// and are in order. The error applies to these n; the rest is passed again.
	// Repetition must be harmless. The context ends when the worker stops, when the
	// handling takes too long (see ReportProgress) or when a removal is read; Handle must
	// then return immediately.
	Handle(ctx context.Context, records []event.Record) (n int, err error)
	// Skip answers the first n of records, at least one, without handling them, because a
	// removal follows. All of them have the same key and are in order. A call of Handle
	// for some of them may have begun. The error applies to these n. Repetition must be
	// harmless.
	Skip(ctx context.Context, records []event.Record) (n int, err error)
	// Committed is called after a commit: rec and all records before it in its partition
	// are done. It is not called for every record.
	Committed(rec event.Record)
}

// Pressure reports how far the projections lag behind the log.
type Pressure interface {
	// Behind returns the number of records in the log that are not yet applied.
	Behind(ctx context.Context) (records int64, err error)
}
