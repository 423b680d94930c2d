package indexing

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// State is how far the indexing of a repository is.
type State string

// The states of a repository. One that is indexed and being updated is indexed.
const (
	Registered State = "registered" // nothing done yet
	Importing  State = "importing"  // the first import runs
	Indexed    State = "indexed"    // searchable
	Failed     State = "failed"     // the first import failed; LastError says why
)

// Status is how far the indexing of one repository is.
type Status struct {
	Repository code.Repository
	// Commit is the indexed commit of the default branch. IndexedAt is when it was indexed,
	// PushedAt the time of the newest commit over all refs; zero if there is none yet.
	Commit              code.CommitID
	IndexedAt, PushedAt time.Time
	State               State
	// Refs are the indexed refs, ordered by name.
	Refs []Ref
	// Progress is nil unless an import or update runs.
	Progress *Progress
	// LastError is the last failure; nil once a later attempt has succeeded.
	LastError *Failure
	// Segments counts the segments that hold documents of the repository, Files
	// the searchable files of the default branch, SkippedFiles those that are not.
	Segments     int
	Files        int
	SkippedFiles int
	// Applied is the position of the latest event of the repository whose effect
	// is visible to searches; nil if none is. A client that registered at a
	// position waits until Applied has reached it.
	Applied *event.Position
	// Reconciliation is the last check for pushes without a webhook; nil if this
	// process does not check.
	Reconciliation *Reconciliation
	// Selection is which refs the globs of the repository selected at the last fetch
	// of all; zero if this process does not know.
	Selection wire.RefSelection
	Freshness Freshness
}

// Ref is an indexed ref.
type Ref struct {
	Ref       code.Ref
	Commit    code.CommitID
	IndexedAt time.Time
}

// Progress counts what an import has done. Totals are 0 until known.
type Progress struct {
	Files, FilesTotal int
	Bytes, BytesTotal int64
}

// Failure is a failure of the pipeline.
type Failure struct {
	Code failure.Code
	// Detail has the words of git or of the server, which name directories and hosts:
	// only owners see it.
	Detail string
	At     time.Time
}

// Reconciliation is one check of a repository for pushes without a webhook.
type Reconciliation struct {
	// LookedAt and Result are zero before the first look.
	LookedAt time.Time
	Result   string
	// Failed is why it failed; nil if it did not.
	Failed *Failure
	NextAt time.Time
}

// Freshness is how far searches are behind the pushes of a repository.
type Freshness struct {
	// Ref is the ref that was indexed last, Commit its commit; ReceivedAt is when
	// the first push that led there was received, IndexedAt when a worker finished
	// it: it is searchable moments later.
	Ref                   code.Ref
	Commit                code.CommitID
	ReceivedAt, IndexedAt time.Time
	// Waiting counts the pushes that were received and have not had their effect,
	// the oldest received at OldestAt. More says that there may be more: as many
	// events as are looked at wait in the partition.
	Waiting  int
	More     bool
	OldestAt time.Time
}

// SkippedFile is a file that is known and not searchable, or one that is and whose
// symbols are partial: one of Reason and PartialSymbols is set.
type SkippedFile struct {
	Path           string
	Ref            code.Ref
	Reason         code.SkipReason
	PartialSymbols code.PartialReason
	SizeBytes      int64
}

// Summary is how far searches are behind the pushes of some repositories.
type Summary struct {
	// Waiting counts the pushes that have not had their effect, the oldest received at
	// OldestAt; More says that there may be more.
	Waiting  int
	More     bool
	OldestAt time.Time
	// IndexedAt is when the newest of their pushes was indexed.
	IndexedAt time.Time
	// Importing is the name of a repository that is imported, of which Files of
	// FilesTotal are read; empty if there is none.
	Importing         string
	Files, FilesTotal int
	// Failed is the name of a repository whose last update failed; empty if none did.
	Failed string
}
