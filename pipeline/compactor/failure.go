package compactor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock"
)

// failure is an error after which the round is retried.
type failure struct {
	reason string // a label value
	err    error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// wrapFailure wraps a non-nil err with the operation that failed.
func wrapFailure(reason, what string, err error) error {
	if err == nil {
		return nil
	}
	return &failure{reason, fmt.Errorf("%s: %w", what, err)}
}

// inputError means that an input of a merge cannot be read.
type inputError struct {
	input *entry
	err   error
}

func (e *inputError) Error() string { return fmt.Sprintf("segment %s: %v", e.input.id, e.err) }
func (e *inputError) Unwrap() error { return e.err }

// fullError means that an input does not fit into one output with those before it.
type fullError struct{ index int }

func (e *fullError) Error() string { return fmt.Sprintf("input %d does not fit", e.index) }

// asReason returns the metric label for an error of a round.
func asReason(err error) string {
	if f := new(failure); errors.As(err, &f) {
		return f.reason
	}
	return failureStore
}

// backoff implements exponential waits with full jitter (Brooker, "Exponential Backoff
// And Jitter", 2015).
type backoff struct{ limit time.Duration }

func (b *backoff) waitNext(ctx context.Context) {
	b.limit = min(max(2*b.limit, minBackoff), maxBackoff)
	_ = clock.Sleep(ctx, rand.N(b.limit)) // the caller checks ctx
}
