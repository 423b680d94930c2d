package server

import (
	"context"

	"github.com/quarrysearch/quarry/pipeline/compactor"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/schemas/event"
)

// liveness is the projections of this process as the compactor asks them.
type liveness struct{ index *index }

var _ compactor.Liveness = liveness{}

// At implements compactor.Liveness.
func (l liveness) At(ctx context.Context, partition int32, next event.Offset) (compactor.View, error) {
	if next > 0 {
		last := event.Position{Topic: event.TopicEvents, Partition: partition, Offset: next - 1}
		if err := l.index.runner.WaitFor(ctx, last); err != nil {
			return nil, err
		}
	}
	return liveView{l.index.places.Acquire()}, nil
}

// liveView is a places.View as the compactor reads it.
type liveView struct{ *places.View }

// Segments implements compactor.View.
func (v liveView) Segments(partition int32) []compactor.SegmentInfo {
	var out []compactor.SegmentInfo
	for _, s := range v.SegmentInfos() {
		if s.Partition == partition && !s.Absent {
			out = append(out, compactor.SegmentInfo{ID: s.ID, LiveBytes: s.LiveBytes})
		}
	}
	return out
}
