package clocktest

import (
	"context"
	"testing"
	"time"
)

// maxReserve bounds the part of go test's -timeout that NewContext leaves for a test to
// report what it waited for, and to stop what it started.
const maxReserve = 30 * time.Second

// pollInterval is the pause between two checks of a condition.
const pollInterval = time.Millisecond

// NewContext returns a context for calls that wait. It ends shortly before go test's
// -timeout, so that a test that hangs reports where; without -timeout, and in a
// benchmark, it ends with the test. It must not be used in a bubble of testing/synctest,
// whose clock is not that of -timeout.
func NewContext(t testing.TB) context.Context {
	limited, ok := t.(interface{ Deadline() (time.Time, bool) })
	if !ok {
		return t.Context()
	}
	end, ok := limited.Deadline()
	if !ok {
		return t.Context()
	}
	ctx, cancel := context.WithDeadline(t.Context(), end.Add(-min(maxReserve, time.Until(end)/10)))
	t.Cleanup(cancel)
	return ctx
}

// WaitUntil waits until a condition is true. If it stays false until the context of
// NewContext ends, the test fails at once with what it waited for.
func WaitUntil(t testing.TB, what string, condition func() bool) {
	t.Helper()
	ctx := NewContext(t)
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for !condition() {
		select {
		case <-poll.C:
		case <-ctx.Done():
			t.Fatalf("waited for %s until the end of the time that the tests have", what)
		}
	}
}
