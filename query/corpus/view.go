package corpus

import (
	"context"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/internal/bitset"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Repository is a repository as a query sees it.
type Repository struct {
	code.Repository
	// IndexedCommit is the commit of the default branch that answers refer to.
	IndexedCommit code.CommitID
	// IndexedAt is when that commit was indexed. PushedAt is the time of the newest
	// commit on any ref. They are zero if there is none yet.
	IndexedAt, PushedAt time.Time
}

// Segment is a segment and the places of its documents.
type Segment struct {
	Reader *segment.Reader
	Places *segment.Places
	// Origins are the repositories that brought the documents, including those that no
	// place names any more, as indexes into the view's repositories; nil if unknown.
	Origins []uint32
	// Visible has bit i set if place i exists for the caller; nil means that all places
	// do.
	Visible []uint64
	// Partition is the partition of the log that the segment belongs to. The segments of a
	// view are sorted by it.
	Partition int32
	// NoIndex means that the segment may contain text that the caller may not see. The
	// index covers that text, so searches do not use it: see package match (noindex.go).
	NoIndex bool
}

// IsVisible reports whether a place exists for the caller.
func (s *Segment) IsVisible(place int) bool {
	return s.Visible == nil || bitset.Set(s.Visible).Has(place)
}

// FirstPlace returns the first place of a document that exists for the caller, or -1.
func (s *Segment) FirstPlace(d segment.DocID) int {
	first, last := int(s.Places.First[d]), int(s.Places.First[d+1])
	if s.Visible != nil {
		if first = bitset.Set(s.Visible).Next(first); first < 0 {
			return -1
		}
	}
	if first >= last {
		return -1
	}
	return first
}

// View is one immutable state of the index.
type View interface {
	// Segments returns the segments with the places on default branches, in an order that
	// stays the same for the same state of the view.
	Segments() []Segment
	// Repositories is indexed by Places.Repo. An entry is nil if there is no such
	// repository; no place that Segment.Visible shows refers to a nil entry.
	Repositories() []*Repository
	// Revisions returns the segments with the places on all refs that match. Places.Ref
	// is an index into the refs returned.
	Revisions(ctx context.Context, match func(*Repository, code.Ref) bool) ([]Segment, []code.Ref, error)
	// Release releases the view; its segments must not be read afterwards.
	Release()
}

// Restricted reports whether a view may hide part of the index. Then the answer, the
// order of its files (firstfiles.go of package search) and the work of the search (noindex.go
// of package match) do not depend on hidden text. They do depend on where visible documents are: if a query of several
// terms has more matches than the search examines, files with all terms in one block of
// the index (postings.BlockBytes) come first, and it may be unknown for some segments
// which blocks those are. A search that stops because of time depends on times.
func Restricted(v View) bool {
	r, ok := v.(interface{ Restricted() bool })
	return ok && r.Restricted()
}
