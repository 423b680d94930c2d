package worker

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/event"
)

// failingSkips is a handler whose first calls of Skip fail.
type failingSkips struct {
	*batches
	failures int
}

func (h *failingSkips) Skip(ctx context.Context, records []event.Record) (int, error) {
	if h.failures--; h.failures >= 0 {
		return 0, errors.New("the log does not answer")
	}
	return h.batches.Skip(ctx, records)
}

// TestSkipIsRetried handles a removal while an earlier event of the repository hangs. The
// event is skipped once Skip succeeds, and not lost or handled before.
func TestSkipIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLiveLog()
		h := &failingSkips{&batches{handle: func(ctx context.Context, values []string) (int, error) {
			if values[0] == "a hang" {
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return len(values), nil
		}}, 3}
		w, err := New(Options{
			Log: l, Handler: h, Backoff: time.Second, MaxBackoff: time.Minute, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
			Removes: func(rec event.Record) bool { return string(rec.Value) == "a remove" },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		l.add("a hang")
		synctest.Wait()
		l.add("a remove", "b push")
		_ = clock.Sleep(ctx, 10*time.Minute)
		if !slices.Equal(h.skipped, []string{"a hang"}) || h.failures >= 0 || l.committed() != 3 || len(l.letters) != 0 {
			t.Errorf("skipped %v after %d failures, committed %d of 3, %d dead letters", h.skipped, 3-max(h.failures, 0), l.committed(), len(l.letters))
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
