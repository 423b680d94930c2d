package erasure

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Request names what is to be erased.
type Request struct {
	Repository code.RepositoryID
	// Commit is a commit that no ref leads to, Path a file or directory that no commit
	// has to which a ref leads; both are empty for the whole repository.
	Commit code.CommitID
	Path   string
}

// IsRepository reports whether the whole repository is to be erased.
func (r Request) IsRepository() bool { return r.Commit == "" && r.Path == "" }

// State is how far an erasure is.
type State string

// The states of an erasure; the last two are final.
const (
	Working State = "erasing"
	Done    State = "done"
	Failed  State = "failed"
)

// Wait is what an erasure waits for.
type Wait string

// What an erasure may wait for.
const (
	WaitForWorkers  Wait = "workers"  // that they come to the event
	WaitForSegments Wait = "segments" // that they are rewritten
	WaitForReplay   Wait = "replay"   // that it ends
)

// Erasure is one erasure, as it is in one process. In JSON it is the row of the projection.
type Erasure struct {
	// At is the position of the request in the log.
	At         event.Position    `json:"-"`
	Repository code.RepositoryID `json:"repository"`
	// Commit or Path is what to erase; both are empty for the whole repository.
	Commit      code.CommitID `json:"commit,omitempty"`
	Path        string        `json:"path,omitempty"`
	RequestedAt time.Time     `json:"requestedAt"`
	// EndedAt is when this directory finished it, zero before; Error says why the
	// workers refused it.
	EndedAt time.Time `json:"endedAt,omitzero"`
	Error   string    `json:"error,omitempty"`
	Proof   *Proof    `json:"proof,omitempty"`
	// State and WaitsFor are filled in where an erasure is shown. SharedFiles counts texts
	// that other repositories have as well, which stay there; it is known when an erasure
	// begins.
	State       State `json:"-"`
	WaitsFor    Wait  `json:"-"`
	SharedFiles int   `json:"-"`
}

// Proof is what was looked at after an erasure.
type Proof struct {
	// Segments and SegmentBytes are the objects of the segment store, Unnamed those that
	// were there before the erasure and that no projection names.
	Segments     int   `json:"segments"`
	SegmentBytes int64 `json:"segmentBytes"`
	Unnamed      int   `json:"unnamed"`
	// Held counts segments of the partition that are kept for a replay although a merge
	// took them.
	Held int `json:"held"`
	// Quarantined counts damaged objects that were deleted.
	Quarantined int `json:"quarantined"`
	// MirrorChecked says that this process has mirrors, and that the mirror has none of
	// what was erased.
	MirrorChecked bool `json:"mirrorChecked"`
}
