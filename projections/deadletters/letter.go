package deadletters

import (
	"cmp"

	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/ledger"
)

// The stages that are counted separately; all others are counted as StageOther.
const (
	StageWorker      = "worker"
	StageProjections = "projections"
	StageOther       = "other"
)

// stageOf returns the stage under which a dead letter is counted.
func stageOf(stage string) string {
	if stage == StageWorker || stage == StageProjections {
		return stage
	}
	return StageOther
}

func newDeadLetter(rec event.Record) *ledger.DeadLetter {
	said := event.ReadLetter(rec)
	l := &ledger.DeadLetter{
		Position: rec.Position, Of: said.Of, Stage: said.Stage, Reason: said.Reason, Code: failure.Parse(string(said.Code)), Attempts: said.Attempts,
		Type: event.TypeOf(rec), At: rec.Time, ValueBytes: len(rec.Value),
	}
	l.Repository, _ = event.RepositoryOfKey(rec.Key) // 0 if the key names none
	return l
}

// origin identifies the record that was given up: dead letters with the same origin are
// copies.
type origin struct {
	of    event.Position
	stage string
}

func originOf(l *ledger.DeadLetter) (origin, bool) {
	return origin{l.Of, l.Stage}, l.Of != event.Position{}
}

// compareAge sorts the oldest first.
func compareAge(a, b *ledger.DeadLetter) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Position.Partition, b.Position.Partition), cmp.Compare(a.Position.Offset, b.Position.Offset))
}
