package projections

import (
	"testing"

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
