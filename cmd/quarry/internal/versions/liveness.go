package versions

import (
	"context"

	"github.com/quarrysearch/quarry/pipeline/compactor"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// liveness presents the live version of the projections to the compactor.
type liveness struct {
	versions *Versions
	classOf  func(*code.Repository) string
}

var _ compactor.Liveness = liveness{}

// Liveness returns the live version as a compactor.Liveness. classOf returns the class of
// a repository: it is equal for repositories that the same callers may read.
func (v *Versions) Liveness(classOf func(*code.Repository) string) compactor.Liveness {
	return liveness{v, classOf}
}

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
	return compactorView{i.Places.Acquire(), i, l.classOf}, nil
}

// compactorView is a places.View as the compactor reads it.
type compactorView struct {
	*places.View
	index   *Version
	classOf func(*code.Repository) string
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
	classes := map[code.RepositoryID]string{}
	for _, s := range v.SegmentInfos() {
		if s.Partition == partition {
			out = append(out, compactor.SegmentInfo{
				ID: s.ID, LiveBytes: s.LiveBytes, DeadDocuments: s.Documents - s.LiveDocuments, RemovedAt: s.RemovedAt, Erase: s.Erase,
				Absent: s.Absent, Replaced: s.Absent && err == nil && missing == places.Missing{},
				Class: v.classOfSegment(&s, classes),
			})
		}
	}
	return out
}

// classOfSegment returns the class of the repositories that brought the documents of a
// segment, or one of its own if they have several. classes caches those of repositories.
func (v compactorView) classOfSegment(s *places.SegmentInfo, classes map[code.RepositoryID]string) string {
	class := "unknown"
	for i, id := range s.Origins {
		c, found := classes[id]
		if !found {
			c = "unregistered " + id.String()
			if r := v.Origin(id); r != nil {
				c = v.classOf(r)
			}
			classes[id] = c
		}
		if i > 0 && c != class {
			return "mixed " + s.ID.String()
		}
		class = c
	}
	return class
}
