package places_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/projections/store/storetest"
	"github.com/quarrysearch/quarry/schemas/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bench is a store with places on top.
type bench struct {
	t       testing.TB
	store   *store.Store
	places  *places.Places
	objects segmentstore.Store
	applier *projectiontest.Applier
	brought brought
}

func newObjects(t testing.TB) *segmentstore.Directory {
	t.Helper()
	d, err := segmentstore.OpenDirectory(t.TempDir())
	must(t, err)
	return d
}

func openBench(t testing.TB, m *storetest.Memory, objects segmentstore.Store, o places.Options) *bench {
	t.Helper()
	s, err := store.Open("store", store.Options{FileSystem: m.FileSystem()})
	must(t, err)
	return benchOver(t, s, objects, o)
}

func benchOver(t testing.TB, s *store.Store, objects segmentstore.Store, o places.Options) *bench {
	t.Helper()
	d := projections.NewDecoder(objects)
	o.Store, o.Decoder, o.Objects = s, d, objects
	p, err := places.Open(context.Background(), o)
	must(t, err)
	return &bench{t, s, p, objects, &projectiontest.Applier{Store: s, Decoder: d, Projections: []projections.Projection{p}}, nil}
}

func (b *bench) apply(records ...event.Record) {
	b.t.Helper()
	for _, rec := range records {
		if err := b.applier.Apply(context.Background(), rec); err != nil {
			b.t.Fatalf("apply %s: %v", rec.Position, err)
		}
		b.brought.note(b.t, rec)
	}
}

func (b *bench) close() {
	b.t.Helper()
	b.places.Close()
	must(b.t, b.store.Close())
}

func (b *bench) dump() []projectiontest.Row {
	b.t.Helper()
	rows, err := projectiontest.Dump(b.store)
	must(b.t, err)
	return rows
}

// openPlaces opens the projection for the conformance suite.
func openPlaces(t *testing.T, s *store.Store, objects segmentstore.Store, d *projections.Decoder) ([]projections.Projection, func()) {
	p, err := places.Open(context.Background(), places.Options{Store: s, Decoder: d, Objects: objects})
	must(t, err)
	return []projections.Projection{p}, p.Close
}
