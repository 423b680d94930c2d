package versions

import (
	"context"

	"github.com/quarrysearch/quarry/pipeline/compactor"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/schemas/event"
)

// liveness presents the live version of the projections to the compactor.
type liveness struct{ versions *Versions }

var _ compactor.Liveness = liveness{}

// Liveness returns the live version as a compactor.Liveness.
func (v *Versions) Liveness() compactor.Liveness { return liveness{v} }

// At implements compactor.Liveness. A version of the past never reaches the offset: the
// compactor then times out, and merges without dropping anything.
func (l liveness) At(ctx context.Context, partition int32, next event.Offset) (compactor.View, error) {
	i := l.versions.Acquire()
	if next > 0 {
		last := event.Position{Topic: event.TopicEvents, Partition: partition, Offset: next - 1}
		if err := i.Runner.WaitFor(ctx, last); err != nil {
			i.Release()
			return nil, err
		}
	}
	return compactorView{i.Places.Acquire(), i}, nil
}

// compactorView is a places.View as the compactor reads it.
type compactorView struct {
	*places.View
	index *Version
}

// Release implements compactor.View.
func (v compactorView) Release() {
	v.View.Release()
	v.index.Release()
}

// Segments implements compactor.View.
func (v compactorView) Segments(partition int32) []compactor.SegmentInfo {
	var out []compactor.SegmentInfo
	missing, err := v.Missing()
	for _, s := range v.SegmentInfos() {
		if s.Partition == partition {
			out = append(out, compactor.SegmentInfo{
				ID: s.ID, LiveBytes: s.LiveBytes, DeadDocuments: s.Documents - s.LiveDocuments, RemovedAt: s.RemovedAt, Erase: s.Erase,
				Absent: s.Absent, Replaced: s.Absent && err == nil && missing == places.Missing{},
			})
		}
	}
	return out
}
