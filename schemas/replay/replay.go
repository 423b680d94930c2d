package replay

import (
	"errors"
	"time"
)

var (
	// ErrRefused says that there is no such projection, or no such moment.
	ErrRefused = errors.New("cannot be replayed")
	// ErrBusy says that the request cannot begin in the current state.
	ErrBusy = errors.New("no replay can begin")
)

// Request says which version to build.
type Request struct {
	// Projection is the projection to rebuild; empty for all.
	Projection string
	// To is a moment of the past: a time as of RFC 3339, or partition/offset.
	To string
	// Force replaces the live version even by one that lacks documents which it has.
	Force bool
}

// State is how far a replay is.
type State string

// The states of a replay; the last three are final.
const (
	Building  State = "building"  // records are applied next to the live version
	Switching State = "switching" // it takes the place of the live version
	Done      State = "done"
	Failed    State = "failed"
	Canceled  State = "canceled"
)

// Replay is one replay, or return to the version before.
type Replay struct {
	ID         int
	Rollback   bool
	Projection string
	To         string
	State      State
	// Records counts those applied, of RecordsTotal.
	Records          int64
	RecordsTotal     int64
	RecordsPerSecond float64
	// MissingDocuments counts those of the past that nothing holds any more.
	MissingDocuments int
	Warning          string
	Error            string
	BegunAt          time.Time
	EndedAt          time.Time
}

// Version is a version of the projections.
type Version struct {
	Name string
	// AsOf is the moment of the past that it shows; empty for the present.
	AsOf             string
	CopyOf           string
	Projection       string
	MissingDocuments int
	// MissingFiles lists the paths of some of them, "repository: path".
	MissingFiles []string
	// DiskBytes counts files that versions share in each of them.
	DiskBytes   int64
	CompletedAt time.Time
}

// List is the latest replays, the newest first, and the versions.
type List struct {
	Current Version
	// Previous is nil if none is kept.
	Previous *Version
	Replays  []Replay
	// Projections are the names that a Request may contain.
	Projections []string
}

// Missing is what was lost and is not indexed again yet.
type Missing struct {
	// Documents and Refs are not found by searches: documents whose text no segment
	// has, and refs whose last revision could not be applied.
	Documents, Refs int
	// Unstored counts documents and refs that searches find and a rebuild would lose.
	Unstored int
}
