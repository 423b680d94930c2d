package compactor

import (
	"context"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Liveness is what a projection in this process knows.
type Liveness interface {
	// At returns what is known once every record of the partition below next is
	// applied, later ones perhaps too. It waits for that until ctx ends.
	At(ctx context.Context, partition int32, next event.Offset) (View, error)
}

// View is one moment of a projection. It never changes; the Compactor releases
// it, and keeps it no longer than a merge takes.
type View interface {
	// Segments returns the segments of a partition that the projection has, in any
	// order.
	Segments(partition int32) []SegmentInfo
	// Liveness returns which documents of a segment must outlive it: bit d of
	// live is set if document d must. code.ErrNotFound if the projection does not
	// have the segment.
	Liveness(id segment.ID) (live []uint64, documents int, err error)
	Release()
}

// SegmentInfo says how much of a segment is alive.
type SegmentInfo struct {
	ID segment.ID
	// LiveBytes is the size of the text of the documents that must outlive the
	// segment.
	LiveBytes int64
	// DeadDocuments counts the documents that need not.
	DeadDocuments int
	// RemovedAt is the time of the oldest removal of a repository or branch that left
	// text among them; zero if there is none.
	RemovedAt time.Time
	// Erase says that such text is to leave the disk now, whatever Options.PurgeAfter says.
	Erase bool
	// Absent says that the segment store lost the segment, and that the projection
	// has nothing of it. Replaced says that no document is missing, because its
	// refs were indexed again.
	Absent, Replaced bool
}
