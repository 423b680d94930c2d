package projections

import (
	"context"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

func TestFence(t *testing.T) {
	var f partitionFence
	for i, step := range []struct{ committed, end, published, want event.Offset }{
		{0, 0, 0, 0},
		{0, 1, 1, 0},   // an event exists, no worker has handled it
		{1, 2, 1, 0},   // handled, but its effect at offset 1 is not published
		{5, 9, 1, 0},   // more has happened: the fence stays at 2
		{5, 9, 2, 1},   // published up to the fence
		{5, 9, 8, 1},   // the next fence is at 9
		{7, 12, 9, 5},  // reached
		{7, 12, 12, 7}, // and the next one
		{7, 12, 12, 7},
	} {
		f.advanceTo(step.committed, step.end, step.published)
		if f.done != step.want {
			t.Fatalf("step %d: done = %d, want %d", i, f.done, step.want)
		}
	}
}

// fenceOffsets is a log with one partition.
type fenceOffsets struct{ committed, end event.Offset }

func (o *fenceOffsets) HighWater(context.Context, event.Topic) ([]event.Offset, error) {
	return []event.Offset{o.end}, nil
}

func (o *fenceOffsets) Committed(context.Context, string, event.Topic) ([]event.Offset, error) {
	return []event.Offset{o.committed}, nil
}

// TestFenceOfARepository checks that the events of a repository take effect while the
// workers are held up by an earlier event of another one.
func TestFenceOfARepository(t *testing.T) {
	log, published := &fenceOffsets{committed: 2, end: 4}, event.Offset(4)
	f := NewFence(log, "workers", func() []Checkpoint { return []Checkpoint{{Next: published}} })
	check := func(what string, id code.RepositoryID, done, want event.Offset) {
		t.Helper()
		if got, err := f.AppliedOffsetOf(t.Context(), 0, id, done); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", what, got, err, want)
		}
	}
	check("the worker of the repository is not known", 7, 0, 2)
	check("handled and published", 7, 4, 4)
	log.end = 9
	check("handled, but its effect is not published", 7, 8, 4)
	published = 9
	check("published", 7, 8, 8)
	check("another repository", 8, 3, 3)
	check("the workers are read late", 7, 3, 8)
	for id := range code.RepositoryID(maxRepositoryFences + 1) {
		check("many repositories", 100+id, 8, 8)
	}
	if n := len(f.mu.repositories); n > maxRepositoryFences {
		t.Errorf("%d fences of repositories, want at most %d", n, maxRepositoryFences)
	}
}
