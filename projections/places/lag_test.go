package places_test

import (
	"context"
	"testing"

	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/store/storetest"
)

// TestStoreThatFollowsLate stops a store halfway. Its segments are merged and deleted
// elsewhere before it continues. Its rows must then equal those of a store that never
// stopped. The late store may be the previous version after a rollback, or a version that
// is built next to a busy live one.
func TestStoreThatFollowsLate(t *testing.T) {
	for _, seed := range seeds(4) {
		objects := &deletions{Store: newObjects(t), deleted: make(chan string, 1000)}
		h := &history{bench: openBench(t, storetest.NewMemory(), objects, places.Options{DeleteObjects: true}), w: projectiontest.NewWorld(t, seed, 2, objects), faithful: true}
		stop := h.run()
		late := openBench(t, storetest.NewMemory(), objects, places.Options{})
		const steps, halt = 120, 50
		applied := 0
		for i := range steps {
			h.step(i)
			if i < halt {
				late.apply(h.records[applied:]...)
				applied = len(h.records)
			}
		}
		if h.stale != nil {
			h.stale.Release()
			h.stale = nil
		}
		stop()
		must(t, h.places.Sweep(context.Background()))
		want := h.dump()
		late.apply(h.records[applied:]...)
		must(t, late.places.Sweep(context.Background()))
		if d := projectiontest.Difference(want, late.dump()); d != "" || h.refused > 0 {
			t.Errorf("seed %d: %d objects deleted, %d merges, %d refused: %s", seed, len(objects.deleted), h.merged, h.refused, d)
		}
		must(t, (&history{bench: late, w: h.w}).check())
		late.close()
		h.finish()
	}
}
