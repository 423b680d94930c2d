package projections_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/schemas/event"
)

// hiddenEnd is a log whose end can be unreadable, and whose records can be withheld.
type hiddenEnd struct {
	*projectiontest.Log
	unreadable atomic.Bool
}

func (h *hiddenEnd) HighWater(ctx context.Context, topic event.Topic) ([]event.Offset, error) {
	if h.unreadable.Load() {
		return nil, errors.New("no broker answers")
	}
	return h.Log.HighWater(ctx, topic)
}

// TestCoverage checks that what readers see ages while the end of the log is unknown or not
// reached, and only then.
func TestCoverage(t *testing.T) {
	log := &hiddenEnd{Log: projectiontest.NewLog(2)}
	log.Add(rawRecords(0, 0, "a", "b")...)
	var clock atomic.Int64
	r, err := projections.New(projections.Options{
		Store: openMemory(t), Log: log, Decoder: projections.NewDecoder(nil), Projections: []projections.Projection{&scripted{}},
		Now: func() time.Time { return time.Unix(clock.Load(), 0) },
	})
	must(t, err)
	if c := r.Coverage(); c.Next != nil || c.Age != projections.NeverCovered {
		t.Errorf("before Run: %+v, want no position", c)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	must(t, r.WaitFor(ctx, event.Position{Topic: event.TopicEvents, Offset: 1}))
	readEnd := func() {
		t.Helper()
		_, err := r.Lag(ctx)
		must(t, err)
	}
	readEnd()
	if c := r.Coverage(); c.Age != 0 || !slices.Equal(c.Next, []event.Offset{2, 0}) {
		t.Errorf("caught up: %+v, want 2 and 0, and no age", c)
	}
	log.unreadable.Store(true)
	clock.Add(9)
	if c := r.Coverage(); c.Age != 9*time.Second {
		t.Errorf("9 s without a reading: %+v, want 9 s", c)
	}
	log.unreadable.Store(false)
	readEnd()
	if c := r.Coverage(); c.Age != 0 {
		t.Errorf("after a reading: %+v, want no age", c)
	}
	// The clock is set back: nothing is older for it.
	clock.Add(-5)
	if c := r.Coverage(); c.Age != 0 {
		t.Errorf("after the clock was set back: %+v, want no age", c)
	}
	cancel()
	must(t, <-done)
}

// TestCoverageBehind checks that a reading of the end counts only once readers see what is
// below it, with more readings than are remembered.
func TestCoverageBehind(t *testing.T) {
	log := silentLog{projectiontest.NewLog(1)}
	var clock atomic.Int64
	r, err := projections.New(projections.Options{
		Store: openMemory(t), Log: log, Decoder: projections.NewDecoder(nil), Projections: []projections.Projection{&scripted{}},
		Now: func() time.Time { return time.Unix(clock.Load(), 0) },
	})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	must(t, r.WaitFor(ctx))
	log.Add(rawRecords(0, 0, "a")...)
	for range 200 {
		clock.Add(1)
		_, err := r.Lag(ctx)
		must(t, err)
		if c, want := r.Coverage(), time.Duration(clock.Load())*time.Second; c.Age != want {
			t.Fatalf("%+v with a record that is not applied, want %v", c, want)
		}
	}
	cancel()
	must(t, <-done)
}
