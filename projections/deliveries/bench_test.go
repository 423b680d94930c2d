package deliveries_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/deliveries"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
)

// BenchmarkLedger applies a push and its answer to a store on disk that is at its bound,
// so that every push removes an old one.
func BenchmarkLedger(b *testing.B) {
	s, err := store.Open(b.TempDir(), store.Options{})
	must(b, err)
	d := projections.NewDecoder(nil)
	l, err := deliveries.Open(deliveries.Options{Store: s, Decoder: d})
	must(b, err)
	b.Cleanup(func() {
		l.Close()
		must(b, s.Close())
	})
	b.Cleanup(deliveries.KeepPushes(1000))
	a := &projectiontest.Applier{Store: s, Decoder: d, Projections: []projections.Projection{l}}
	next := event.Offset(0)
	one := func() {
		at := event.Position{Topic: event.TopicEvents, Offset: next}
		for _, ev := range []event.Event{
			&event.Push{Repository: 7, Ref: "refs/heads/main", Action: event.ActionUpdated, Connection: "hub", DeliveryID: fmt.Sprint("72d3162e-cc78-11e3-81ab-", next), ReceivedAt: start},
			&event.RevisionIndexed{Repository: 7, Ref: "refs/heads/main", Cause: at, PushedAt: start, IndexedAt: start},
		} {
			rec, err := event.Encode(event.Envelope{ID: "x", Source: "/webhooks/github/hub", Time: start}, ev)
			must(b, err)
			rec.Position, rec.Time = event.Position{Topic: event.TopicEvents, Offset: next}, start
			must(b, a.Apply(context.Background(), rec))
			next++
		}
	}
	for range 1500 {
		one()
	}
	for b.Loop() {
		one()
	}
}
