package places_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store/storetest"
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
