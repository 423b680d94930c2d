package erasure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/projections/store/storetest"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/erasure"
	"github.com/quarrysearch/quarry/schemas/event"
)

var errInjected = errors.New("injected")

// fakeWorkers are workers whose progress and mirror the test controls.
type fakeWorkers struct {
	*projectiontest.Log
	committed                  event.Offset
	removed                    bool // the mirror
	mirror, replaying, deleted error
	reason                     string
	dropped                    []event.Position
}

func (f *fakeWorkers) Committed(context.Context, string, event.Topic) ([]event.Offset, error) {
	return []event.Offset{f.committed}, nil
}

func (f *fakeWorkers) Remove(context.Context) error {
	f.removed = f.mirror == nil
	return f.mirror
}

func (f *fakeWorkers) ErasePath(context.Context, string) error { return f.mirror }

func (f *fakeWorkers) EraseCommit(context.Context, code.CommitID) error { return f.mirror }

// world is two repositories, each with its text in one segment, and the projections of their log.
type world struct {
	*fakeWorkers
	t          *testing.T
	model      *projectiontest.World
	repository *projectiontest.Repository // that is erased
	kept       segment.ID                 // of the other repository
	objects    *segmentstore.Directory
	eraser     *Eraser
}

func newWorld(t *testing.T) *world {
	objects, err := segmentstore.OpenDirectory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{fakeWorkers: &fakeWorkers{Log: projectiontest.NewLog(1)}, t: t, model: projectiontest.NewWorld(t, 1, 1, objects), objects: objects}
	rows, err := store.Open("store", store.Options{FileSystem: storetest.NewMemory().FileSystem()})
	if err != nil {
		t.Fatal(err)
	}
	decoder := projections.NewDecoder(objects)
	c, err := catalog.Open(catalog.Options{Store: rows, Decoder: decoder})
	if err != nil {
		t.Fatal(err)
	}
	p, err := places.Open(t.Context(), places.Options{Store: rows, Decoder: decoder, Objects: objects, DeleteObjects: true})
	if err != nil {
		t.Fatal(err)
	}
	runner, err := projections.New(projections.Options{Store: rows, Log: w.Log, Decoder: decoder, Projections: []projections.Projection{c, p}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Close()
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	})
	w.run(runner.Run)
	w.eraser = New(Options{
		Catalog: c, Places: p, Runner: runner, Rows: rows, Fence: projections.NewFence(w, "workers", runner.Checkpoints), Objects: objects,
		FailureReason:   func(event.Position) (string, bool) { return w.reason, w.reason != "" },
		DropPrevious:    func() error { return w.replaying },
		DropSnapshots:   func(_ context.Context, at event.Position) error { w.dropped = append(w.dropped, at); return w.deleted },
		EmptyQuarantine: func(context.Context) (int, error) { return 3, nil },
		Mirror:          func(code.RepositoryID) Mirror { return w }, Logger: slog.New(slog.DiscardHandler),
	})
	w.index(1)
	for id := range w.model.Segments {
		w.kept = id
	}
	w.repository = w.index(0)
	return w
}

// index registers repository n and indexes its only file.
func (w *world) index(n int) *projectiontest.Repository {
	w.Add(w.model.Register(n))
	r := w.model.Repositories[code.NewRepositoryID("host", fmt.Sprint(n))]
	files := map[string]projectiontest.File{"secret.go": {Key: w.model.Document(n)}}
	w.Add(w.model.Index(r, code.BranchRef("main"), files, nil, func(code.DocumentKey) bool { return false })...)
	return r
}

// run runs a part of the projections until the test ends.
func (w *world) run(part func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1) // bounded: receives one value
	go func() { ended <- part(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	})
}

// requestErasure removes the repository and requests its erasure.
func (w *world) requestErasure() erasure.Erasure {
	w.t.Helper()
	w.Add(w.model.Append(0, &event.RepositoryRemoved{Repository: w.repository.ID, Erase: true, At: time.Now().UTC()}))
	clocktest.WaitUntil(w.t, "the erasure is listed", func() bool { return len(w.eraser.Places.Erasures()) == 1 })
	return w.eraser.Places.Erasures()[0]
}

// wantWait advances the erasure and compares what it waits for.
func (w *world) wantWait(asked erasure.Erasure, want erasure.Wait) {
	w.t.Helper()
	w.eraser.processErasure(w.t.Context(), asked)
	if got := w.eraser.WaitReason(asked.At); got != want || !w.eraser.Places.Erasures()[0].EndedAt.IsZero() {
		w.t.Fatalf("it waits for %q, want %q: %+v", got, want, w.eraser.Places.Erasures()[0])
	}
}

// rewriteSegments merges the segments to nothing, as the compactor does with text of removed
// repositories, and deletes them.
func (w *world) rewriteSegments(asked erasure.Erasure) {
	w.t.Helper()
	var inputs []segment.ID
	for id := range w.model.Segments {
		if id != w.kept {
			inputs = append(inputs, id)
		}
	}
	_, merged := w.model.Merge(0, inputs, nil)
	w.Add(merged)
	w.run(w.eraser.Places.Run)
	clocktest.WaitUntil(w.t, "no segment has the text", func() bool { return w.eraser.Places.ErasureSegments(asked) == 0 })
	w.committed = merged.Position.Offset + 1
}

// TestErasureWaitsForEachStep erases a repository. It takes each step only after the one before,
// and goes on where a step failed.
func TestErasureWaitsForEachStep(t *testing.T) {
	w := newWorld(t)
	upload := segmentstore.ScipName(w.repository.ID, strings.Repeat("a", 32))
	if err := w.objects.PutBytes(t.Context(), upload, []byte("quotes the text")); err != nil {
		t.Fatal(err)
	}
	asked := w.requestErasure()
	w.wantWait(asked, erasure.WaitForWorkers)
	w.committed = asked.At.Offset + 1
	w.wantWait(asked, erasure.WaitForSegments)
	w.rewriteSegments(asked)
	w.replaying = errInjected
	w.wantWait(asked, erasure.WaitForReplay)
	if w.dropped != nil || w.removed {
		t.Error("snapshots or the mirror went before the other versions")
	}
	w.replaying, w.deleted = nil, errInjected
	w.wantWait(asked, "")
	w.deleted, w.mirror = nil, errInjected
	w.wantWait(asked, "")
	w.mirror = nil
	w.eraser.processErasure(t.Context(), asked)
	got := w.eraser.Places.Erasures()[0]
	if got.EndedAt.IsZero() || got.Error != "" || got.Proof == nil || got.Proof.SegmentBytes == 0 || !w.removed {
		t.Fatalf("the erasure ended as %+v with the proof %+v", got, got.Proof)
	}
	if got.Proof.SegmentBytes = 0; *got.Proof != (erasure.Proof{Segments: 1, Quarantined: 3, MirrorChecked: true}) {
		t.Errorf("proof %+v, want one segment that is named", got.Proof)
	}
	if len(w.eraser.mu.waits) > 0 {
		t.Errorf("the erasure that ended waits still: %v", w.eraser.mu.waits)
	}
	for _, at := range w.dropped {
		if at != asked.At {
			t.Errorf("snapshots before %s are deleted, want before %s", at, asked.At)
		}
	}
	for object, err := range w.objects.List(t.Context()) {
		if object.Name != segmentstore.SegmentName(w.kept) || err != nil {
			t.Errorf("the store still has %s: %v", object.Name, err)
		}
	}
}

// TestErasureIsRefused ends an erasure that the workers gave up with their reason: nothing is
// deleted.
func TestErasureIsRefused(t *testing.T) {
	w := newWorld(t)
	asked := w.requestErasure()
	w.committed, w.reason = asked.At.Offset+1, "a branch still contains the commit"
	w.eraser.processErasure(t.Context(), asked)
	got := w.eraser.Places.Erasures()[0]
	if got.EndedAt.IsZero() || got.Error != w.reason || got.Proof != nil || w.removed || w.dropped != nil {
		t.Errorf("the erasure ended as %+v", got)
	}
}
