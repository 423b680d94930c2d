package indexing

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// State is the indexing state of a repository.
type State string

// The states of a repository. A repository that is being updated is Indexed.
const (
	Registered State = "registered" // not imported yet
	Importing  State = "importing"  // the first import runs
	Indexed    State = "indexed"    // searchable
	Failed     State = "failed"     // the first import failed; see LastError
)

// Status describes the indexing of one repository.
type Status struct {
	Repository code.Repository
	// Commit is the indexed commit of the default branch, IndexedAt the time when it was
	// indexed, PushedAt the time of the newest commit in all refs; zero if there is none
	// yet.
	Commit              code.CommitID
	IndexedAt, PushedAt time.Time
	State               State
	// Empty means that this process has fetched the repository, which has no commit, and nothing is
	// being imported.
	Empty bool
	// Refs are the indexed refs, ordered by name.
	Refs []Ref
	// Progress is nil unless an import or update runs.
	Progress *Progress
	// MirrorMissing is set if this process indexes the repository and has lost its mirror.
	MirrorMissing bool
	// LastError is the last failure; nil once a later attempt has succeeded.
	LastError *Failure
	// Segments counts the segments that contain documents of the repository, Files the
	// searchable files of the default branch, SkippedFiles the others.
	Segments     int
	Files        int
	SkippedFiles int
	// Applied is the position of the latest event of the repository whose effect
	// is visible to searches; nil if none is. A client that registered at a
	// position waits until Applied has reached it.
	Applied *event.Position
	// Reconciliation is the last check for pushes without a webhook; nil if this process
	// does not reconcile.
	Reconciliation *Reconciliation
	// Selection describes the refs that the globs of the repository selected at the last
	// complete fetch; zero if this process does not know.
	Selection wire.RefSelection
	Freshness Freshness
}

// Ref is an indexed ref.
type Ref struct {
	Ref       code.Ref
	Commit    code.CommitID
	IndexedAt time.Time
}

// Progress is the progress of an import. Totals are 0 until known.
type Progress struct {
	Files, FilesTotal int
	Bytes, BytesTotal int64
}

// Failure is a failure of the pipeline.
type Failure struct {
	Code failure.Code
	// Detail is the message of git or of the server. It may name directories and hosts,
	// so only owners see it.
	Detail string
	At     time.Time
}

// Reconciliation is one check of a repository for pushes without a webhook.
type Reconciliation struct {
	// LookedAt and Result are zero before the first check.
	LookedAt time.Time
	Result   string
	// Failed is the failure of the check; nil if it succeeded.
	Failed *Failure
	NextAt time.Time
}

// Freshness describes how far the index is behind the pushes of a repository.
type Freshness struct {
	// Ref is the ref that was indexed last, Commit its commit. ReceivedAt is the time
	// when the first push that led to it was received, IndexedAt the time when a worker
	// finished it; it is searchable moments later.
	Ref                   code.Ref
	Commit                code.CommitID
	ReceivedAt, IndexedAt time.Time
	// Waiting counts the pushes that were received but have not taken effect, the oldest
	// received at OldestAt. More reports that there may be more, because the partition
	// has more waiting events than are read.
	Waiting  int
	More     bool
	OldestAt time.Time
}

// SkippedFile is a known file that is not searchable, or a searchable file with partial
// symbols. Either Reason or PartialSymbols is set.
type SkippedFile struct {
	Path           string
	Ref            code.Ref
	Reason         code.SkipReason
	PartialSymbols code.PartialReason
	SizeBytes      int64
}

// Summary describes how far the index is behind the pushes of some repositories.
type Summary struct {
	// Waiting counts the pushes that have not taken effect, the oldest received at
	// OldestAt; More reports that there may be more.
	Waiting  int
	More     bool
	OldestAt time.Time
	// IndexedAt is the time when the newest of their pushes was indexed.
	IndexedAt time.Time
	// Importing is the name of a repository that is being imported, with Files of
	// FilesTotal read so far; empty if there is none.
	Importing         string
	Files, FilesTotal int
	// Failed is the name of a repository whose last update failed; empty if none did.
	Failed string
}
