package projections

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// noting is a log that stores noted positions, or fails.
type noting struct {
	eventlog.Log
	err   error
	notes [][]event.Offset
}

func (n *noting) Note(_ context.Context, group string, topic event.Topic, offsets []event.Offset) error {
	if group != "quarry-projections" || topic != event.TopicEvents {
		return errors.New("note for " + group + " on " + string(topic))
	}
	if n.err == nil {
		n.notes = append(n.notes, offsets)
	}
	return n.err
}

// TestPositionsAreNoted advances the clock: a position is noted if it has changed or is
// an hour old, and a failure is logged once.
func TestPositionsAreNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		var checkpoints []Checkpoint
		log := &noting{}
		p := NewPositionNoter(log, func() []Checkpoint { return checkpoints }, slog.New(slog.NewTextHandler(&said, nil)), nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx) }()
		pass := func(d time.Duration) { <-time.After(d + time.Millisecond); synctest.Wait() }

		pass(3 * time.Second)
		checkpoints = []Checkpoint{{Partition: 1, Next: 7}, {Partition: 0, Next: 3}}
		pass(3 * time.Second)
		log.err = eventlog.ErrFull
		checkpoints = []Checkpoint{{Partition: 0, Next: 4}, {Partition: 1, Next: 7}}
		pass(3 * time.Second)
		if failures := testutil.ToFloat64(p.failures); failures != 3 || strings.Count(said.String(), "WARN") != 1 {
			t.Errorf("%v failures, said:\n%s", failures, said.String())
		}
		log.err = nil
		pass(noteAgainAfter + 2*time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		want := [][]event.Offset{{3, 7}, {4, 7}, {4, 7}}
		if !slices.EqualFunc(log.notes, want, slices.Equal) {
			t.Errorf("noted %v, want %v", log.notes, want)
		}
	})
}
