package ledger

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// DeadLetter is an open dead letter, without value and headers.
type DeadLetter struct {
	// Position is the position of the dead letter, Of that of the record that was given
	// up; Of is zero if the dead letter does not name it.
	Position, Of event.Position
	// Stage gave up the record after Attempts tries because of Reason.
	Stage, Reason string
	// Code is the kind of failure.
	Code     failure.Code
	Attempts int
	// Type is the type of the event; empty if unknown.
	Type event.Type
	// Repository is 0 if the key names none. RepositoryName is empty then, and always in
	// results of the projection.
	Repository     code.RepositoryID
	RepositoryName string
	// At is the time when the dead letter was appended to the log.
	At time.Time
	// ValueBytes is the size of the dead letter's value.
	ValueBytes int
	// Copies counts additional dead letters of the same record and stage.
	Copies int
}

// DeadLetterQuery selects dead letters; zero fields select all.
type DeadLetterQuery struct {
	Stage      string
	Type       event.Type
	Repository code.RepositoryID
}
