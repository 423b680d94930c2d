package eventlog_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// joiner is a log whose groups end with the next of its errors.
type joiner struct {
	errs   []error
	joined []time.Time
}

func (j *joiner) Join(ctx context.Context, _ string, topic event.Topic, handle func(ctx context.Context, a eventlog.Assignment) error) error {
	j.joined = append(j.joined, time.Now())
	if topic != event.TopicAccounts {
		return errors.New("want the topic with one partition")
	}
	if len(j.errs) == 0 {
		return handle(ctx, assignment{})
	}
	err := j.errs[0]
	j.errs = j.errs[1:]
	return err
}

type assignment struct{ eventlog.Assignment }

func (assignment) Partition() int32 { return 0 }

// TestLeadRejoins checks that a process joins again after failures, with growing waits,
// leads until it is stopped, and gives up when the log is closed.
func TestLeadRejoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("down")
		j := &joiner{errs: []error{down, down, down}}
		ctx, stop := context.WithCancel(t.Context())
		led := 0
		err := eventlog.Lead(ctx, j, "g", slog.New(slog.DiscardHandler), func(ctx context.Context) error {
			led++
			stop()
			return ctx.Err()
		})
		if err != nil || led != 1 || len(j.joined) != 4 {
			t.Fatalf("led %d times after %d joins: %v", led, len(j.joined), err)
		}
		for i, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			if got := j.joined[i+1].Sub(j.joined[i]); got != want {
				t.Errorf("wait %d is %s, want %s", i, got, want)
			}
		}
		j = &joiner{errs: []error{down, eventlog.ErrClosed}}
		if err := eventlog.Lead(t.Context(), j, "g", slog.New(slog.DiscardHandler), nil); !errors.Is(err, eventlog.ErrClosed) {
			t.Errorf("with a closed log: %v, want %v", err, eventlog.ErrClosed)
		}
	})
}
