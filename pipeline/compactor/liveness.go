package compactor

import (
	"context"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Liveness is the information from a projection in this process.
type Liveness interface {
	// At returns a View that has applied every record of the partition below next, and
	// possibly later ones. It waits for the projection until ctx ends.
	At(ctx context.Context, partition int32, next event.Offset) (View, error)
}

// View is a snapshot of a projection. It never changes. The Compactor releases it, and
// keeps it only while a merge runs.
type View interface {
	// Segments returns the segments of a partition that the projection has, in any order.
	Segments(partition int32) []SegmentInfo
	// Liveness reports which documents of a segment must be kept: bit d of live is set if
	// document d must, also because only lost segments hold it besides. It fails with
	// code.ErrNotFound if the projection does not have the segment.
	Liveness(id segment.ID, lost ...segment.ID) (live []uint64, documents int, err error)
	// Readers returns a Reader for each document of a segment; the zero Reader for a
	// document that no repository names. It fails with code.ErrNotFound if the projection
	// does not have the segment, and may take a second for a million files.
	Readers(ctx context.Context, id segment.ID) ([]Reader, error)
	Release()
}

// Reader says who may read a document: those who may read a repository that names it. Of
// several, it is one that the most callers may read.
type Reader struct {
	Repository code.RepositoryID
	// Class is the class of a segment with only such documents, see SegmentInfo.
	Class string
}

// SegmentInfo describes how much of a segment is alive.
type SegmentInfo struct {
	ID segment.ID
	// LiveBytes is the size of the text of the documents that must be kept.
	LiveBytes int64
	// DeadDocuments counts the other documents.
	DeadDocuments int
	// RemovedAt is the time of the oldest removal of a repository or branch with text in
	// dead documents; zero if there is none.
	RemovedAt time.Time
	// Erase reports that such text must leave the disk now, regardless of
	// Options.PurgeAfter.
	Erase bool
	// Class is equal for segments with text that the same callers may read. Segments of
	// different classes are not merged, because a search by a caller who may not see all of
	// a segment cannot use its index.
	Class string
	// Mixed reports that the segment has text of several classes.
	Mixed bool
	// Absent reports that the segment store lost the segment, and that the projection has
	// no data of it. Replaced reports that no document is missing, because the segment's
	// refs were indexed again.
	Absent, Replaced bool
}
