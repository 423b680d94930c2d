package places_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store/storetest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// deletions is a segment store that records deletions.
type deletions struct {
	segmentstore.Store
	deleted chan string
	mu      sync.Mutex
	fail    error
	kept    string // the object that a snapshot names
}

func (d *deletions) Delete(ctx context.Context, name string) error {
	d.mu.Lock()
	err, kept := d.fail, d.kept
	d.mu.Unlock()
	if name == kept {
		d.deleted <- "kept"
		return segmentstore.ErrKept
	}
	if err != nil {
		d.deleted <- "failed"
		return err
	}
	err = d.Store.Delete(ctx, name)
	d.deleted <- name
	return err
}

func (h *history) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.places.Run(ctx) }()
	return func() {
		cancel()
		must(h.t, <-done)
	}
}

func (h *history) inDatabase(id segment.ID) bool {
	found, err := h.store.HasSegment(segment.KeyRange(id))
	must(h.t, err)
	return found
}

// TestSegmentsGoWithTheirLastView checks that a merged segment stays readable as long as
// a view references it, and that its keys and its object are deleted then.
func TestSegmentsGoWithTheirLastView(t *testing.T) {
	objects := &deletions{Store: newObjects(t), deleted: make(chan string, 100)}
	h := &history{bench: openBench(t, storetest.NewMemory(), objects, places.Options{DeleteObjects: true}), w: projectiontest.NewWorld(t, 3, 1, objects)}
	stop := h.run()
	h.apply(h.w.Register(0))
	var repo *projectiontest.Repository
	for _, r := range h.w.Repositories {
		repo = r
	}
	a, b := h.w.Document(1), h.w.Document(2)
	unknown := func(code.DocumentKey) bool { return false }
	files := map[string]projectiontest.File{"a": {Key: a}}
	main := code.Ref("refs/heads/main")
	h.apply(h.w.Index(repo, main, files, nil, unknown)...)
	files = maps.Clone(files)
	files["b"] = projectiontest.File{Key: b}
	h.apply(h.w.Index(repo, main, files, &main, unknown)...)

	v := h.places.Acquire()
	var inputs []segment.ID
	for _, info := range v.SegmentInfos() {
		inputs = append(inputs, info.ID)
	}
	ev, rec := h.w.Merge(0, inputs, []code.DocumentKey{a, b})
	h.apply(rec)
	h.w.Merged(ev)
	must(t, h.check())
	for _, s := range v.Segments() {
		if _, err := s.Reader.Text(0, nil); err != nil {
			t.Fatalf("a view cannot read its segment: %v", err)
		}
	}
	select {
	case name := <-objects.deleted:
		t.Fatalf("%s was deleted under a view", name)
	default:
	}
	v.Release()
	for _, id := range inputs {
		if name := <-objects.deleted; name != segmentstore.SegmentName(id) {
			t.Fatalf("%s was deleted, want %s: objects go in order", name, id)
		}
		if h.inDatabase(id) {
			t.Fatalf("segment %s is still in the store", id)
		}
	}
	stop()
	must(t, h.check())
	h.finish()
}

// TestKeptSegmentsDoNotBlock checks that the object of a merged segment stays while a snapshot
// names it, that objects which were dropped later are deleted meanwhile, and that it is
// deleted after the snapshot.
func TestKeptSegmentsDoNotBlock(t *testing.T) {
	objects := &deletions{Store: newObjects(t), deleted: make(chan string, 100)}
	h := &history{bench: openBench(t, storetest.NewMemory(), objects, places.Options{DeleteObjects: true}), w: projectiontest.NewWorld(t, 3, 1, objects)}
	h.apply(h.w.Register(0))
	var repo *projectiontest.Repository
	for _, r := range h.w.Repositories {
		repo = r
	}
	main, files := code.Ref("refs/heads/main"), map[string]projectiontest.File{}
	var documents []code.DocumentKey
	push := func() {
		documents = append(documents, h.w.Document(len(documents)+1))
		files = maps.Clone(files)
		files[fmt.Sprint("file", len(documents))] = projectiontest.File{Key: documents[len(documents)-1]}
		var base *code.Ref
		if len(documents) > 1 {
			base = &main
		}
		h.apply(h.w.Index(repo, main, files, base, func(k code.DocumentKey) bool { return k != documents[len(documents)-1] })...)
	}
	merge := func() (inputs []segment.ID) {
		v := h.places.Acquire()
		for _, info := range v.SegmentInfos() {
			inputs = append(inputs, info.ID)
		}
		v.Release()
		ev, rec := h.w.Merge(0, inputs, documents)
		h.apply(rec)
		h.w.Merged(ev)
		return inputs
	}
	push()
	push()
	v := h.places.Acquire()
	objects.kept = segmentstore.SegmentName(v.SegmentInfos()[0].ID)
	v.Release()
	stop := h.run()
	inputs := merge()
	if got := <-objects.deleted; got != "kept" {
		t.Fatalf("%s was deleted, want the first one to be tried", got)
	}
	if got := <-objects.deleted; got != segmentstore.SegmentName(inputs[1]) {
		t.Fatalf("%s was deleted behind an object that is kept, want %s", got, inputs[1])
	}
	objects.mu.Lock()
	kept := objects.kept
	objects.kept = ""
	objects.mu.Unlock()
	push()
	merge() // wakes the sweeper
	for got := ""; got != kept; {
		got = <-objects.deleted
	}
	stop()
	must(t, h.check())
	h.finish()
}

// TestDeletionGoesOnAfterRestart checks that an object whose deletion failed or did not
// start is deleted by the next process.
func TestDeletionGoesOnAfterRestart(t *testing.T) {
	m := storetest.NewMemory()
	objects := &deletions{Store: newObjects(t), deleted: make(chan string, 100), fail: errors.New("no route to host")}
	o := places.Options{DeleteObjects: true}
	h := &history{bench: openBench(t, m, objects, o), w: projectiontest.NewWorld(t, 3, 1, objects)}
	stop := h.run()
	for h.merged == 0 {
		h.step(0)
	}
	if h.stale != nil {
		h.stale.Release()
		h.stale = nil
	}
	if what := <-objects.deleted; what != "failed" {
		t.Fatalf("deleted %s, want \"failed\"", what)
	}
	stop()
	h.close()
	objects.mu.Lock()
	objects.fail = nil
	objects.mu.Unlock()
	h.bench = openBench(t, m, objects, o)
	stop = h.run()
	<-objects.deleted
	stop()
	must(t, h.check())
	h.finish()
}

// TestRebuildWithoutDeletedObjects shows why absent segments exist: a store that is built
// from the log after merged segments have been deleted from the segment store has the
// rows of a store that read those segments.
func TestRebuildWithoutDeletedObjects(t *testing.T) {
	for _, seed := range seeds(3) {
		objects := &deletions{Store: newObjects(t), deleted: make(chan string, 1000)}
		h := &history{bench: openBench(t, storetest.NewMemory(), objects, places.Options{DeleteObjects: true}), w: projectiontest.NewWorld(t, seed, 2, objects), faithful: true}
		stop := h.run()
		for i := range 100 {
			h.step(i)
		}
		if h.stale != nil {
			h.stale.Release()
			h.stale = nil
		}
		stop()
		must(t, h.places.Sweep(context.Background()))
		want := h.dump()
		gone := len(objects.deleted)
		fresh := openBench(t, storetest.NewMemory(), objects, places.Options{})
		fresh.apply(h.records...)
		must(t, fresh.places.Sweep(context.Background()))
		got := fresh.dump()
		if d := projectiontest.Difference(want, got); d != "" || h.refused > 0 {
			t.Errorf("seed %d: %d objects deleted, %d merges, %d refused: %s", seed, gone, h.merged, h.refused, d)
		}
		h2 := &history{bench: fresh, w: h.w}
		must(t, h2.check())
		t.Logf("seed %d: %d objects deleted, %d merges, %d refused, %d rows", seed, gone, h.merged, h.refused, len(want))
		fresh.close()
		h.finish()
	}
}

// TestNothingLeaks deletes every ref, then every repository, and checks for leftover
// rows.
func TestNothingLeaks(t *testing.T) {
	for _, seed := range seeds(2) {
		h := newHistory(t, seed, places.Options{})
		for i := range 80 {
			h.step(i)
		}
		for _, id := range slices.Sorted(maps.Keys(h.w.Repositories)) {
			r := h.w.Repositories[id]
			for _, ref := range slices.Sorted(maps.Keys(r.Refs)) {
				h.apply(h.w.Index(r, ref, nil, nil, func(code.DocumentKey) bool { return true })...)
				must(t, h.check())
			}
		}
		for _, row := range h.dump() {
			switch kind := string(row.Key[:2]); kind {
			case "pe", "pk", "pm", "pn", "pl", "pw", "pu":
				t.Fatalf("seed %d: a row without a ref: %q", seed, row.Key)
			case "pd":
				if row.Value[0] != 0 {
					t.Fatalf("seed %d: a document without a ref counts %d", seed, row.Value[0])
				}
			}
		}
		for _, id := range slices.Sorted(maps.Keys(h.w.Repositories)) {
			h.apply(h.w.Remove(h.w.Repositories[id]))
		}
		for _, row := range h.dump() {
			switch kind := string(row.Key[:2]); kind {
			case "pR", "pr", "pb":
				t.Fatalf("seed %d: a row without a repository: %q", seed, row.Key)
			}
		}
		must(t, h.check())
		h.finish()
	}
}

// TestReadersWhileApplying acquires views on several goroutines while records are applied
// and segments are merged: each view must be consistent.
func TestReadersWhileApplying(t *testing.T) {
	h := newHistory(t, 77, places.Options{})
	stop := h.run()
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for ctx.Err() == nil {
				v := h.places.Acquire()
				if _, err := listPlaces(v, v.Segments(), nil); err != nil {
					t.Error(err)
				}
				segments, refs, err := v.Revisions(ctx, func(*places.Repository, code.Ref) bool { return true })
				if err == nil {
					_, err = listPlaces(v, segments, append([]code.Ref{}, refs...))
				}
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				v.Release()
			}
		})
	}
	for i := range 80 {
		h.step(i)
	}
	cancel()
	readers.Wait()
	stop()
	h.finish()
}

func TestBroken(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	h := newHistory(t, 1, places.Options{Registerer: reg})
	h.apply(h.w.Register(0))
	var repo *projectiontest.Repository
	for _, r := range h.w.Repositories {
		repo = r
	}
	main := code.Ref("refs/heads/main")
	unknown := func(code.DocumentKey) bool { return false }
	files := map[string]projectiontest.File{"a": {Key: h.w.Document(1)}}
	h.apply(h.w.Index(repo, main, files, nil, unknown)...)
	h.apply(h.w.WrongBase(repo, main)...)
	v := h.places.Acquire()
	broken, err := v.Broken(10)
	must(t, err)
	if n := v.BrokenRefs(); n != 1 {
		t.Errorf("the view counts %d broken refs, want 1", n)
	}
	v.Release()
	if len(broken) != 1 || broken[0].Have != repo.Refs[main].Commit || broken[0].Ref != main {
		t.Fatalf("broken: %v", broken)
	}
	t.Log(broken[0])
	must(t, h.check())
	h.apply(h.w.Index(repo, main, files, nil, unknown)...)
	v = h.places.Acquire()
	if broken, err = v.Broken(10); err != nil || len(broken) != 0 || v.BrokenRefs() != 0 {
		t.Fatalf("after the repair: %v, %d counted, %v", broken, v.BrokenRefs(), err)
	}
	v.Release()
	families, err := reg.Gather()
	must(t, err)
	for _, f := range families {
		if f.GetName() == "quarry_places_broken_total" {
			for _, m := range f.GetMetric() {
				if m.GetLabel()[0].GetValue() == "wrong_base" && m.Counter.GetValue() != 1 {
					t.Fatalf("%v wrong bases counted", m.Counter.GetValue())
				}
			}
		}
	}
	h.finish()
}

func TestRevisionsAreBounded(t *testing.T) {
	h := newHistory(t, 4, places.Options{MaxRevisionPlaces: 1})
	for i := 0; len(h.w.Repositories) == 0 || i < 20; i++ {
		_, records := h.w.Step()
		h.apply(records...)
	}
	v := h.places.Acquire()
	if _, _, err := v.Revisions(context.Background(), func(*places.Repository, code.Ref) bool { return true }); !errors.Is(err, places.ErrTooMany) {
		t.Fatalf("Revisions over all refs = %v, want %v", err, places.ErrTooMany)
	}
	if _, err := v.Lookup(12345, "", "a"); !errors.Is(err, code.ErrNotFound) {
		t.Fatalf("Lookup in an unknown repository = %v, want %v", err, code.ErrNotFound)
	}
	v.Release()
	h.finish()
}
