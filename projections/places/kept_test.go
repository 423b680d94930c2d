package places_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store/storetest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// snapshotStore is a segment store in which snapshots name some objects: their deletion is
// refused until the snapshots are deleted.
type snapshotStore struct {
	segmentstore.Store
	seed    uint64
	off     atomic.Bool // the snapshots are deleted
	kept    atomic.Int64
	deleted atomic.Int64
}

// isNamed reports whether a snapshot names the object. Half of them are.
func (s *snapshotStore) isNamed(name string) bool {
	h := s.seed
	for _, c := range []byte(name) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(h, 1)).IntN(2) == 0
}

func (s *snapshotStore) Delete(ctx context.Context, name string) error {
	if _, isSegment := segmentstore.ParseSegmentName(name); isSegment && !s.off.Load() && s.isNamed(name) {
		s.kept.Add(1)
		return segmentstore.ErrKept
	}
	s.deleted.Add(1)
	return s.Store.Delete(ctx, name)
}

// TestRebuildBesideSnapshots rebuilds stores from the log after histories in which snapshots
// keep some of the objects that were merged away, and merges are refused. The rows must be
// those of the store that applied every record when it was written: with the objects that the
// snapshots keep, and after the snapshots were deleted.
func TestRebuildBesideSnapshots(t *testing.T) {
	var merged, refused, kept int
	for _, faithful := range []bool{true, false} {
		for _, seed := range append(seeds(1), 3302692873, 505389406, 3505638642) { // the last ones found faults
			objects := &snapshotStore{Store: newObjects(t), seed: seed}
			h := &history{bench: openBench(t, storetest.NewMemory(), objects, places.Options{DeleteObjects: true}), w: projectiontest.NewWorld(t, seed, 2, objects), faithful: faithful}
			for i := range 100 {
				h.step(i)
				if h.stale != nil && i%5 == 0 {
					h.stale.Release()
					h.stale = nil
				}
				must(t, h.places.Sweep(context.Background()))
			}
			if h.stale != nil {
				h.stale.Release()
				h.stale = nil
			}
			for _, off := range []bool{false, true} {
				objects.off.Store(off)
				must(t, h.places.Sweep(context.Background()))
				fresh := openBench(t, storetest.NewMemory(), objects, places.Options{})
				fresh.apply(h.records...)
				must(t, fresh.places.Sweep(context.Background()))
				if d := projectiontest.Difference(h.dump(), fresh.dump()); d != "" {
					t.Errorf("faithful %v, seed %d, snapshots deleted %v: %d objects deleted, %d kept, %d merges, %d refused: %s", faithful, seed, off, objects.deleted.Load(), objects.kept.Load(), h.merged, h.refused, d)
				}
				must(t, (&history{bench: fresh, w: h.w}).check())
				fresh.close()
			}
			merged, refused, kept = merged+h.merged, refused+h.refused, kept+int(objects.kept.Load())
			h.finish()
		}
	}
	if merged == 0 || refused == 0 || kept == 0 {
		t.Errorf("%d merges, %d refused, %d objects kept: the histories are too small", merged, refused, kept)
	}
}

// TestRemovalDeletesSnapshots checks that text of a removal also leaves segments that were
// merged away before it and stay only because a snapshot names them: the snapshot is deleted
// half of PurgeAfter after the removal, and immediately for an erasure, also by the next process.
func TestRemovalDeletesSnapshots(t *testing.T) {
	const never = 200 * 365 * 24 * time.Hour
	for _, c := range []struct {
		name            string
		purgeAfter      time.Duration
		remove          func(*projectiontest.World, *projectiontest.Repository) []event.Record
		restart, leaves bool
	}{
		{"repository", time.Hour, removeRepository, false, true},
		{"repository, restart", time.Hour, removeRepository, true, true},
		{"repository, not due", never, removeRepository, false, false},
		{"repository, no bound", 0, removeRepository, false, true},
		{"branch", time.Hour, removeBranch, true, true},
		{"branch, not due", never, removeBranch, true, false},
		{"erasure", never, eraseRepository, false, true},
		{"erasure, restart", never, eraseRepository, true, true},
		{"push", time.Hour, emptyBranch, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, objects := storetest.NewMemory(), &deletions{Store: newObjects(t), deleted: make(chan string, 100)}
			o := places.Options{DeleteObjects: true, PurgeAfter: c.purgeAfter, DeleteSnapshots: func(_ context.Context, id segment.ID) error {
				if objects.kept == segmentstore.SegmentName(id) {
					objects.kept = ""
				}
				return nil
			}}
			h := &history{bench: openBench(t, m, objects, o), w: projectiontest.NewWorld(t, 3, 1, objects)}
			h.apply(h.w.Register(0))
			var repo *projectiontest.Repository
			for _, r := range h.w.Repositories {
				repo = r
			}
			files := map[string]projectiontest.File{"a": {Key: h.w.Document(1)}, "b": {Key: h.w.Document(2)}}
			h.apply(h.w.Index(repo, "refs/heads/main", files, nil, func(code.DocumentKey) bool { return false })...)
			v := h.places.Acquire()
			input := v.SegmentInfos()[0].ID
			v.Release()
			objects.kept = segmentstore.SegmentName(input)
			ev, rec := h.w.Merge(0, []segment.ID{input}, []code.DocumentKey{files["a"].Key, files["b"].Key})
			h.apply(rec)
			h.w.Merged(ev)
			must(t, h.places.Sweep(t.Context()))
			h.apply(c.remove(h.w, repo)...)
			if c.restart {
				h.close()
				h.bench = openBench(t, m, objects, o)
			}
			pending := h.places.PendingRemoval().Segments
			must(t, h.places.Sweep(t.Context()))
			_, err := objects.GetBytes(t.Context(), segmentstore.SegmentName(input), 0)
			if left := errors.Is(err, code.ErrNotFound); left != c.leaves {
				t.Errorf("the object left: %v, want %v", left, c.leaves)
			}
			if waits := c.name != "push"; waits != (pending > 0) {
				t.Errorf("%d segments with removed text are reported", pending)
			}
			h.close()
		})
	}
}

func removeRepository(w *projectiontest.World, r *projectiontest.Repository) []event.Record {
	return []event.Record{w.Remove(r)}
}

func eraseRepository(w *projectiontest.World, r *projectiontest.Repository) []event.Record {
	w.Remove(r) // the world forgets it; the log has an erasure
	return []event.Record{w.Append(r.Partition, &event.RepositoryRemoved{Repository: r.ID, Erase: true, At: time.Now()})}
}

func removeBranch(w *projectiontest.World, r *projectiontest.Repository) []event.Record {
	return w.Index(r, "refs/heads/main", nil, nil, func(code.DocumentKey) bool { return false })
}

func emptyBranch(w *projectiontest.World, r *projectiontest.Repository) []event.Record {
	return w.Index(r, "refs/heads/main", map[string]projectiontest.File{}, nil, func(code.DocumentKey) bool { return false })
}
