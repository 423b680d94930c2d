package projectiontest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/projections/store/storetest"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Open opens the projections under test over a store. close is called before
// the store is closed.
type Open func(t *testing.T, s *store.Store, objects segmentstore.Store, d *projections.Decoder) (p []projections.Projection, close func())

// Conform runs the suite: it applies the records, whose objects must all be in objects,
// in several ways and compares all resulting rows.
func Conform(t *testing.T, records []event.Record, objects segmentstore.Store, open Open) {
	c := &conformer{records: records, objects: objects, open: open}
	want := c.run(t, storetest.NewMemory(), records)
	t.Run("again", func(t *testing.T) { c.mustEqual(t, want, c.run(t, storetest.NewMemory(), records)) })
	t.Run("replayed", func(t *testing.T) { c.applyTwice(t, want) })
	t.Run("suffixes", func(t *testing.T) { c.applySuffixes(t, want) })
	t.Run("reopened", func(t *testing.T) { c.reopenBetween(t, want) })
	t.Run("crashed", func(t *testing.T) { c.crashEverywhere(t, want) })
	t.Run("partition by partition", func(t *testing.T) { c.applyReordered(t, want) })
	t.Run("damaged", func(t *testing.T) { c.damageRows(t, want) })
}

type conformer struct {
	records []event.Record
	objects segmentstore.Store
	open    Open
}

// withStore opens a store and calls f with an Applier for it.
func (c *conformer) withStore(t *testing.T, m *storetest.Memory, f func(a *Applier)) {
	t.Helper()
	s, err := store.Open("store", store.Options{FileSystem: m.FileSystem(), CacheBytes: store.MinCacheBytes})
	if err != nil {
		t.Fatal(err)
	}
	d := projections.NewDecoder(c.objects)
	p, closeAll := c.open(t, s, c.objects, d)
	if err := projections.CheckSchema(s, p); err != nil {
		t.Fatal(err)
	}
	f(&Applier{Store: s, Decoder: d, Projections: p})
	closeAll()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func (c *conformer) apply(t *testing.T, a *Applier, records []event.Record) {
	t.Helper()
	for _, rec := range records {
		if err := a.Apply(context.Background(), rec); err != nil {
			t.Fatalf("apply %s: %v", rec.Position, err)
		}
	}
}

func (c *conformer) mustDump(t *testing.T, a *Applier) []Row {
	t.Helper()
	rows, err := Dump(a.Store)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// run applies records to a store and returns its rows after it is opened again.
func (c *conformer) run(t *testing.T, m *storetest.Memory, records []event.Record) (rows []Row) {
	t.Helper()
	c.withStore(t, m, func(a *Applier) { c.apply(t, a, records) })
	c.withStore(t, m, func(a *Applier) { rows = c.mustDump(t, a) })
	return rows
}

func (c *conformer) mustEqual(t *testing.T, want, got []Row) {
	t.Helper()
	if d := Difference(want, got); d != "" {
		t.Fatalf("rows differ: %s", d)
	}
}

// applyTwice applies everything twice to one store.
func (c *conformer) applyTwice(t *testing.T, want []Row) {
	m := storetest.NewMemory()
	c.run(t, m, c.records)
	c.mustEqual(t, want, c.run(t, m, c.records))
}

// applySuffixes applies suffixes of the records once more.
func (c *conformer) applySuffixes(t *testing.T, want []Row) {
	m := storetest.NewMemory()
	c.run(t, m, c.records)
	for from := 0; from < len(c.records); from += 1 + len(c.records)/16 {
		c.withStore(t, m, func(a *Applier) { c.apply(t, a, c.records[from:]) })
	}
	c.withStore(t, m, func(a *Applier) { c.mustEqual(t, want, c.mustDump(t, a)) })
}

// reopenBetween closes and opens the store between records.
func (c *conformer) reopenBetween(t *testing.T, want []Row) {
	m := storetest.NewMemory()
	step := 1 + len(c.records)/40
	for from := 0; from < len(c.records); from += step {
		c.withStore(t, m, func(a *Applier) { c.apply(t, a, c.records[from:min(from+step, len(c.records))]) })
	}
	c.withStore(t, m, func(a *Applier) { c.mustEqual(t, want, c.mustDump(t, a)) })
}

// crashEverywhere simulates a power loss after every record: once without any unsynced
// data, once with a random part of it. The rest must continue to the same rows.
func (c *conformer) crashEverywhere(t *testing.T, want []Row) {
	m := storetest.NewMemory()
	var left []*storetest.Memory
	c.withStore(t, m, func(a *Applier) {
		for i, rec := range c.records {
			c.apply(t, a, []event.Record{rec})
			left = append(left, m.Crash(50*(i%2), uint64(i)))
		}
	})
	every := 1
	if testing.Short() || len(left) > 100 {
		every = 1 + len(left)/100
	}
	for i := 0; i < len(left); i += every {
		if d := Difference(want, c.run(t, left[i], c.records)); d != "" {
			t.Fatalf("after a crash behind record %d, %s: %s", i, c.records[i].Position, d)
		}
	}
}

// applyReordered applies one partition after the other, because their rows must be
// independent.
func (c *conformer) applyReordered(t *testing.T, want []Row) {
	var sorted []event.Record
	for partition := int32(8); partition >= 0; partition-- {
		for _, rec := range c.records {
			if rec.Position.Partition == partition {
				sorted = append(sorted, rec)
			}
		}
	}
	if len(sorted) != len(c.records) {
		t.Fatalf("%d of %d records have a partition below 9", len(sorted), len(c.records))
	}
	c.mustEqual(t, want, c.run(t, storetest.NewMemory(), sorted))
}

// damageRows damages rows in the middle of the records, one at a time. The other records then fail,
// or they lead to the same other rows: no damaged row is taken for another one. Segments are left
// out, since a store releases them later, and so are rows of one byte, which may have any value.
func (c *conformer) damageRows(t *testing.T, want []Row) {
	without := func(rows []Row, key []byte) []Row {
		return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Key[0] == byte(store.FamilySegments) || bytes.Equal(r.Key, key) })
	}
	middle := len(c.records) / 2
	var rows []Row
	c.withStore(t, storetest.NewMemory(), func(a *Applier) {
		c.apply(t, a, c.records[:middle])
		rows = slices.DeleteFunc(without(c.mustDump(t, a), nil), func(r Row) bool { return len(r.Value) < 2 })
	})
	for i := 0; i < len(rows); i += 1 + len(rows)/40 {
		key := rows[i].Key
		c.withStore(t, storetest.NewMemory(), func(a *Applier) {
			c.apply(t, a, c.records[:middle])
			b := a.Store.NewBatch()
			if err := errors.Join(b.Set(key, []byte{0xff}), b.Commit()); err != nil {
				t.Fatal(err)
			}
			for _, rec := range c.records[middle:] {
				if a.Apply(context.Background(), rec) != nil {
					return
				}
			}
			if d := Difference(without(want, key), without(c.mustDump(t, a), key)); d != "" {
				t.Errorf("row %q is damaged before record %d of %d, and all others are applied: %s", key, middle, len(c.records), d)
			}
		})
	}
}
