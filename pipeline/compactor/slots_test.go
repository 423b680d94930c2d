package compactor

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/event"
)

// TestLargeMergeWaitsForASlot merges while imports hold all slots: a small merge
// continues, a large one waits until a slot is free, and releases it afterwards.
func TestLargeMergeWaitsForASlot(t *testing.T) {
	t.Parallel()
	s := newSite(t, 14)
	entries := func(lines int) []*entry {
		var inputs []*entry
		for range 4 {
			d := s.documentOf(lines)
			id := s.push(0, d)
			inputs = append(inputs, &entry{id: id, ref: event.SegmentRef{ID: id.String(), TextBytes: int64(len(d.Text))}})
		}
		return inputs
	}
	large, small := entries(segment.SmallBytes/120), entries(10)
	taken := false
	slots := segment.NewSlots(1, func(busy bool) { taken = busy })
	s.check(slots.Acquire(s.ctx))
	m := newMerger(Options{Objects: s.store, TempDir: t.TempDir(), Slots: slots})
	_, err := m.mergeSegments(s.ctx, 0, small, nil)
	s.check(err)
	ctx, cancel := context.WithTimeout(s.ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := m.mergeSegments(ctx, 0, large, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a large merge during an import that has the only slot: %v, want %v", err, context.DeadlineExceeded)
	}
	slots.Release()
	out, err := m.mergeSegments(s.ctx, 0, large, nil)
	s.check(err)
	if out.outputs[0].Segment.Documents != 4 || taken {
		t.Errorf("%d documents, want 4; a slot is still taken: %v", out.outputs[0].Segment.Documents, taken)
	}
}
