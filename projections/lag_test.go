package projections_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/schemas/event"
)

// silentLog reports that it has records but delivers none, like brokers whose fetches
// fail.
type silentLog struct{ *projectiontest.Log }

func (silentLog) Tail(context.Context, event.Topic, int32, event.Offset) (event.Reader, error) {
	return silentReader{}, nil
}

type silentReader struct{}

func (silentReader) Next(ctx context.Context) (event.Record, error) {
	<-ctx.Done()
	return event.Record{}, ctx.Err()
}

func (silentReader) Close() error { return nil }

// TestLagOfASilentLog checks that the lag grows although no record is being applied.
func TestLagOfASilentLog(t *testing.T) {
	log := projectiontest.NewLog(1)
	log.Add(rawRecords(0, 0, "a", "b")...)
	var clock atomic.Int64
	r, err := projections.New(projections.Options{
		Store: openMemory(t), Log: silentLog{log}, Decoder: projections.NewDecoder(nil), Projections: []projections.Projection{&scripted{}},
		Now: func() time.Time { return time.Unix(clock.Load(), 0) },
	})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	must(t, r.WaitFor(ctx)) // until it knows its position
	lag := func() projections.Lag {
		t.Helper()
		lags, err := r.Lag(ctx)
		must(t, err)
		return lags[0]
	}
	if l := lag(); l.Records != 2 || l.Seconds != 0 {
		t.Errorf("at first: %+v, want 2 records and 0 s", l)
	}
	clock.Add(400)
	if l := lag(); l.Records != 2 || l.Seconds != 400 {
		t.Errorf("400 s later: %+v, want 2 records and 400 s", l)
	}
	cancel()
	must(t, <-done)
}
