package accounting

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Account summarizes the pushes of a log.
type Account struct {
	// Records is the number of records read from quarry.events.
	Records int
	// Pushes is the number of pushes in the log. Indexed, Handled and Dead count them by
	// the kind of their answer; Open counts those without an answer.
	Pushes, Indexed, Handled, Dead int
	Open                           []Push
	// Revisions counts RevisionIndexed events; Doubled counts those that repeat an
	// earlier ID, which readers drop.
	Revisions, Doubled int
	// Outcomes counts the pushes of PushesHandled.
	Outcomes map[event.PushOutcome]int
	// Unreadable holds the positions of records that cannot be decoded.
	Unreadable []event.Position
	// DeadLetters is the number of records in quarry.deadletters, including resolutions.
	// DeadOf holds the reason by the position of the original record.
	DeadLetters int
	DeadOf      map[string]string
}

// Push is a push without an answer.
type Push struct {
	Position   event.Position
	Repository code.RepositoryID
	Ref        code.Ref
	DeliveryID string
}

// String returns a description of the push.
func (p Push) String() string {
	return fmt.Sprintf("%s: %d %s, delivery %s", p.Position, p.Repository, p.Ref, p.DeliveryID)
}

// Read reads the log up to its current end.
func Read(ctx context.Context, log eventlog.Log) (*Account, error) {
	a := &Account{Outcomes: map[event.PushOutcome]int{}, DeadOf: map[string]string{}}
	ends, err := log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return nil, fmt.Errorf("accounting: %w", err)
	}
	if err := a.readDeadLetters(ctx, log); err != nil {
		return nil, fmt.Errorf("accounting: %w", err)
	}
	for partition, end := range ends {
		p := newPartition(a)
		for rec, err := range event.ReadRange(ctx, log, event.TopicEvents, int32(partition), 0, end) {
			if err != nil {
				return nil, fmt.Errorf("accounting: %w", err)
			}
			p.addRecord(rec)
		}
		p.assignOutcomes()
	}
	return a, nil
}

// readDeadLetters records the positions of the original records of dead letters.
func (a *Account) readDeadLetters(ctx context.Context, log eventlog.Log) error {
	ends, err := log.HighWater(ctx, event.TopicDeadLetters)
	if err != nil {
		return err
	}
	for partition, end := range ends {
		for rec, err := range event.ReadRange(ctx, log, event.TopicDeadLetters, int32(partition), 0, end) {
			if err != nil {
				return err
			}
			a.addDeadLetter(rec)
		}
	}
	return nil
}

func (a *Account) addDeadLetter(r event.Record) {
	a.DeadLetters++
	headers := map[string]string{}
	for _, h := range r.Headers {
		headers[h.Name] = string(h.Value)
	}
	if position, ok := headers[event.HeaderDeadPosition]; ok {
		a.DeadOf[position] = headers[event.HeaderDeadSource] + ": " + headers[event.HeaderDeadReason]
	}
}
