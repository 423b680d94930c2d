package deadletters

import (
	"cmp"
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
	// Repository is 0 where the key names none.
	Repository code.RepositoryID
	// At is when the log took the letter.
	At time.Time
	// ValueBytes is the size of the value that the letter has.
	ValueBytes int
	// Copies counts the further letters of the same record and stage.
	Copies int
}

// The stages that are counted by themselves; any other is StageOther.
const (
	StageWorker      = "worker"
	StageProjections = "projections"
	StageOther       = "other"
)

// stageOf is the stage that a letter is counted under.
func stageOf(stage string) string {
	if stage == StageWorker || stage == StageProjections {
		return stage
	}
	return StageOther
}

func newDeadLetter(rec event.Record) *DeadLetter {
	said := event.ReadLetter(rec)
	l := &DeadLetter{
		Position: rec.Position, Of: said.Of, Stage: said.Stage, Reason: said.Reason, Code: failure.Parse(string(said.Code)), Attempts: said.Attempts,
		Type: event.TypeOf(rec), At: rec.Time, ValueBytes: len(rec.Value),
	}
	l.Repository, _ = event.RepositoryOfKey(rec.Key) // 0 for a key that names none
	return l
}

// origin identifies the record that was given up: letters of one origin are copies.
type origin struct {
	of    event.Position
	stage string
}

func (l *DeadLetter) letterOrigin() (origin, bool) {
	return origin{l.Of, l.Stage}, l.Of != event.Position{}
}

// compareAge orders the oldest first.
func compareAge(a, b *DeadLetter) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Position.Partition, b.Position.Partition), cmp.Compare(a.Position.Offset, b.Position.Offset))
}
