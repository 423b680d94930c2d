package places_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store/storetest"
	"github.com/quarrysearch/quarry/schemas/event"
)

// restoreSegment calls Places.Restore like the goroutine of the partition.
func (b *bench) restoreSegment(partition int32, id segment.ID) bool {
	b.t.Helper()
	batch := b.store.NewBatch()
	held, err := b.places.Restore(context.Background(), batch, partition, id)
	must(b.t, err)
	must(b.t, batch.Commit())
	b.places.Committed(partition)
	b.places.Publish(partition)
	return held
}

// exciseSegment removes the keys of a segment, so that it is unreadable as after damage.
func (b *bench) exciseSegment(id segment.ID) {
	b.t.Helper()
	lo, hi := segment.KeyRange(id)
	must(b.t, b.store.Excise(context.Background(), lo, hi))
}

// readerOf returns the reader of a segment in the current view, or nil.
func (b *bench) readerOf(id segment.ID) *segment.Reader {
	v := b.places.Acquire()
	defer v.Release()
	for _, s := range v.Segments() {
		if s.Reader.ID() == id {
			return s.Reader
		}
	}
	return nil
}

func (b *bench) segmentInfos() []places.SegmentInfo {
	v := b.places.Acquire()
	defer v.Release()
	return v.SegmentInfos()
}

func (b *bench) unheldCount() int {
	v := b.places.Acquire()
	defer v.Release()
	return v.UnheldCount()
}

// TestRestore removes the keys of each segment of a store: they are restored from the
// segment store, at run time or when the store is opened. If the object is damaged, too,
// the rows become those of a store that is built without the object.
func TestRestore(t *testing.T) {
	dir := t.TempDir()
	objects, err := segmentstore.OpenDirectory(dir)
	must(t, err)
	w := projectiontest.NewWorld(t, 11, 2, objects)
	w.Faithful = true
	var records []event.Record
	for range 40 {
		_, more := w.Step()
		records = append(records, more...)
	}
	m := storetest.NewMemory()
	b := openBench(t, m, objects, places.Options{})
	b.apply(records...)
	want := b.dump()

	for _, info := range b.segmentInfos() {
		before := b.readerOf(info.ID)
		b.exciseSegment(info.ID)
		if !b.restoreSegment(info.Partition, info.ID) {
			t.Fatalf("segment %s is not restored", info.ID)
		}
		if after := b.readerOf(info.ID); after == nil || after == before {
			t.Fatalf("segment %s has the reader of before, with what it holds in memory", info.ID)
		}
	}
	if d := projectiontest.Difference(want, b.dump()); d != "" {
		t.Fatalf("after the restore: %s", d)
	}
	for i, info := range b.segmentInfos() {
		if i%2 == 0 {
			b.exciseSegment(info.ID)
		}
	}
	b.close()
	b = openBench(t, m, objects, places.Options{})
	if d := projectiontest.Difference(want, b.dump()); d != "" {
		t.Fatalf("after a start: %s", d)
	}

	good := map[string][]byte{}
	for i, info := range b.segmentInfos() {
		if i%3 > 0 {
			continue
		}
		name := segmentstore.SegmentName(info.ID)
		text, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		good[name] = append([]byte(nil), text...)
		text[len(text)/2] ^= 4
		must(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		b.exciseSegment(info.ID)
		if i%2 == 0 && b.restoreSegment(info.Partition, info.ID) {
			t.Fatalf("segment %s is restored from a damaged object", info.ID)
		}
	}
	b.close() // the others become absent when the store is opened
	b = openBench(t, m, objects, places.Options{})
	if b.unheldCount() == 0 {
		t.Fatal("nothing is missing")
	}
	rebuilt := openBench(t, storetest.NewMemory(), objects, places.Options{})
	rebuilt.apply(records...)
	if d := projectiontest.Difference(rebuilt.dump(), b.dump()); d != "" {
		t.Fatalf("a rebuild and the store without the segments: %s", d)
	}
	rebuilt.close()

	for name, text := range good {
		must(t, objects.PutBytes(context.Background(), name, text))
	}
	for _, r := range w.Repositories {
		var segments []event.SegmentRef
		for _, info := range b.segmentInfos() {
			if info.Partition == r.Partition {
				segments = append(segments, event.SegmentRef{ID: info.ID.String(), SizeBytes: info.SizeBytes, TextBytes: info.TextBytes, Documents: info.Documents})
			}
		}
		for ref, at := range r.Refs {
			b.apply(w.IndexWith(r, ref, at.Files, &ref, segments)...)
			break
		}
	}
	if n := b.unheldCount(); n != 0 {
		t.Errorf("%d documents are missing after their segments were named again", n)
	}
	b.close()
}
