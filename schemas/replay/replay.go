package replay

import (
	"errors"
	"time"
)

var (
	// ErrRefused reports that there is no such projection, or no such time in the log.
	ErrRefused = errors.New("cannot be replayed")
	// ErrBusy reports that the request cannot begin in the current state.
	ErrBusy = errors.New("no replay can begin")
)

// Request describes the version to build.
type Request struct {
	// Projection is the projection to rebuild; empty for all.
	Projection string
	// To is a point in the past: an RFC 3339 time, or partition/offset.
	To string
	// Force allows a switch to a version that lacks documents of the live one.
	Force bool
}

// State is the state of a replay.
type State string

// The states of a replay; the last three are final.
const (
	Building  State = "building"  // records are applied next to the live version
	Switching State = "switching" // the version replaces the live one
	Done      State = "done"
	Failed    State = "failed"
	Canceled  State = "canceled"
)

// Replay describes one replay or rollback.
type Replay struct {
	ID         int
	Rollback   bool
	Projection string
	To         string
	State      State
	// Records counts the applied records, out of RecordsTotal.
	Records          int64
	RecordsTotal     int64
	RecordsPerSecond float64
	// MissingDocuments counts documents of the past that are no longer stored anywhere.
	MissingDocuments int
	Warning          string
	Error            string
	BegunAt          time.Time
	EndedAt          time.Time
	// Nodes are the replicas of the shards of a front, which replay the log, too.
	Nodes []Node
}

// Node is a replica of a shard.
type Node struct {
	Share, Address string
	// Replay is the one that the replica has begun, or the latest one in a List; nil without any.
	Replay *Replay
	// Problem says why the replica has begun none, or why it is not known.
	Problem string
}

// Version describes a version of the projections.
type Version struct {
	Name string
	// AsOf is the point in the past that it shows; empty for the present.
	AsOf             string
	CopyOf           string
	Projection       string
	MissingDocuments int
	// MissingFiles lists the paths of some missing documents, as "repository: path".
	MissingFiles []string
	// DiskBytes includes files that are shared with other versions.
	DiskBytes   int64
	CompletedAt time.Time
}

// List holds the latest replays, newest first, and the versions.
type List struct {
	Current Version
	// Previous is the version before the live one; nil if none is kept.
	Previous *Version
	Replays  []Replay
	// Projections are the names that a Request may contain.
	Projections []string
	// Nodes are the replicas of the shards of a front.
	Nodes []Node
}

// Missing counts lost text that is not re-indexed yet.
type Missing struct {
	// Documents and Refs are not found by searches: Documents counts documents whose text
	// no segment contains, Refs the refs whose last revision could not be applied.
	Documents, Refs int
	// Unstored counts documents and refs that searches find but a rebuild would lose.
	Unstored int
}
