package views

import (
	"cmp"
	"context"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/compactor"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// liveness presents the live version of the projections to the compactor.
type liveness struct {
	versions *versions.Versions
	classOf  func(*code.Repository) string
}

var _ compactor.Liveness = liveness{}

// NewLiveness returns the live version as a compactor.Liveness. classOf returns the class
// of a repository: it is equal for repositories that the same callers may read.
func NewLiveness(v *versions.Versions, classOf func(*code.Repository) string) compactor.Liveness {
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
	index   *versions.Version
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
			})
			last := &out[len(out)-1]
			last.Class, last.Mixed = v.classOfSegment(&s, classes)
		}
	}
	return out
}

// classOfSegment returns the class of the repositories that brought the documents of a
// segment; no other segment has the class of one with several. classes caches those of repositories.
func (v compactorView) classOfSegment(s *places.SegmentInfo, classes map[code.RepositoryID]string) (class string, mixed bool) {
	class = "unknown"
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
			return "mixed " + s.ID.String(), true
		}
		class = c
	}
	return class, false
}

// Readers implements compactor.View. Most callers may read public text, then internal text.
func (v compactorView) Readers(ctx context.Context, id segment.ID) ([]compactor.Reader, error) {
	_, documents, err := v.Liveness(id)
	if err != nil {
		return nil, err
	}
	rank := func(class string) int {
		return slices.Index([]string{string(account.Internal), string(account.Public)}, class)
	}
	readers := make([]compactor.Reader, documents)
	return readers, v.Namers(ctx, id, func(r *places.Repository, d segment.DocID) {
		known, next := &readers[d], compactor.Reader{Repository: r.ID, Class: v.classOf(&r.Repository)}
		if *known == (compactor.Reader{}) || cmp.Or(cmp.Compare(rank(next.Class), rank(known.Class)),
			cmp.Compare(known.Repository, next.Repository)) > 0 {
			*known = next
		}
	})
}
