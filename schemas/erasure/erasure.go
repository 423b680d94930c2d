package erasure

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Request names the text to erase.
type Request struct {
	Repository code.RepositoryID
	// Commit is a commit that no ref reaches, Path a file or directory that no reachable
	// commit contains; both are empty for the whole repository.
	Commit code.CommitID
	Path   string
}

// IsRepository reports whether r requests the erasure of the whole repository.
func (r Request) IsRepository() bool { return r.Commit == "" && r.Path == "" }

// State is the state of an erasure.
type State string

// The states of an erasure; the last two are final.
const (
	Working State = "erasing"
	Done    State = "done"
	Failed  State = "failed"
)

// Wait is the thing that an erasure waits for.
type Wait string

// Things that an erasure may wait for.
const (
	WaitForWorkers  Wait = "workers"  // workers have to reach the event
	WaitForSegments Wait = "segments" // segments have to be rewritten
	WaitForReplay   Wait = "replay"   // the replay has to end
	WaitForShards   Wait = "shards"   // replicas of shards have to answer
)

// Erasure describes one erasure as one process sees it. In JSON it is the row of the
// projection.
type Erasure struct {
	// At is the position of the request in the log.
	At         event.Position    `json:"-"`
	Repository code.RepositoryID `json:"repository"`
	// Commit or Path names the text to erase; both are empty for the whole repository.
	Commit      code.CommitID `json:"commit,omitempty"`
	Path        string        `json:"path,omitempty"`
	RequestedAt time.Time     `json:"requestedAt"`
	// EndedAt is the time when this data directory finished the erasure, zero before;
	// Error is the reason why the workers refused it.
	EndedAt time.Time `json:"endedAt,omitzero"`
	Error   string    `json:"error,omitempty"`
	Proof   *Proof    `json:"proof,omitempty"`
	// State and WaitsFor are filled in when an erasure is shown. SharedFiles counts texts
	// that other repositories also contain and keep; it is known once an erasure begins.
	State       State `json:"-"`
	WaitsFor    Wait  `json:"-"`
	SharedFiles int   `json:"-"`
	// Nodes are the replicas of a front's shards that have the text.
	Nodes []Node `json:"-"`
}

// Node is a replica of a shard, with the erasure as it sees it.
type Node struct {
	Share, Address string
	State          State
	WaitsFor       Wait
	Error          string
	EndedAt        time.Time
	// Problem says why the state of the replica is not known.
	Problem string
}

// Proof reports what was checked after an erasure.
type Proof struct {
	// Segments and SegmentBytes are the number and size of the objects in the segment
	// store, Unnamed the number of those that are older than the erasure and that no
	// projection names.
	Segments     int   `json:"segments"`
	SegmentBytes int64 `json:"segmentBytes"`
	Unnamed      int   `json:"unnamed"`
	// Held counts merged segments of the partition that are kept for a replay.
	Held int `json:"held"`
	// Quarantined counts damaged objects that were deleted.
	Quarantined int `json:"quarantined"`
	// MirrorChecked reports that this process has mirrors, and that the mirror contains
	// nothing of the erased text.
	MirrorChecked bool `json:"mirrorChecked"`
}
