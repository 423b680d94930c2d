package ledger

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// DeadLetter is an open dead letter, without value and headers.
type DeadLetter struct {
	// Position is its own, Of that of the record that was given up: the zero
	// Position if the letter does not say.
	Position, Of event.Position
	// Stage gave it up, after so many Attempts, for this Reason.
	Stage, Reason string
	// Code is the kind of the reason.
	Code     failure.Code
	Attempts int
	// Type is that of the event, empty without one.
	Type event.Type
	// Repository is 0 where the key names none. RepositoryName is empty there, and in what
	// the projection returns.
	Repository     code.RepositoryID
	RepositoryName string
	// At is when the log took the letter.
	At time.Time
	// ValueBytes is the size of the value that the letter has.
	ValueBytes int
	// Copies counts the further letters of the same record and stage.
	Copies int
}

// DeadLetterQuery selects dead letters; zero fields select all.
type DeadLetterQuery struct {
	Stage      string
	Type       event.Type
	Repository code.RepositoryID
}
