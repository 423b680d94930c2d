package deliveries

import (
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/ledger"
)

// toDelivery converts an entry to a Delivery without its pushes.
func (e *entryRow) toDelivery(at event.Position) *ledger.Delivery {
	d := &ledger.Delivery{
		Position: at, Source: e.Source, Connection: e.Connection, DeliveryID: e.DeliveryID, BodySHA256: e.BodySHA256,
		Repository: e.Repository, ReceivedAt: e.ReceivedAt, LoggedAt: e.LoggedAt,
		Outcome: e.Outcome, Reason: e.Reason, Of: e.Of, Suppressed: e.Suppressed,
	}
	if e.Duplicates != nil {
		d.Duplicates, d.LastDuplicateAt = e.Duplicates.Count, e.Duplicates.Last
	}
	return d
}

// toPush converts a row to a Push.
func (l *Ledger) toPush(at event.Position, row *pushRow) ledger.Push {
	p := ledger.Push{Position: at, Ref: row.Ref, Before: row.Before, After: row.After, Action: row.Action, Outcome: ledger.OutcomeWaiting}
	a := row.Answer
	if a == nil {
		return p
	}
	p.Outcome, p.Commit, p.Changes, p.Documents, p.Segments, p.DoneAt = a.Outcome, a.Commit, a.Changes, a.Documents, a.Segments, a.DoneAt
	answered := at
	answered.Offset = a.Answered
	p.Answered = &answered
	switch a.Outcome {
	case ledger.OutcomeCoalesced:
		cause := at
		cause.Offset = a.Cause
		p.Cause = &cause
	case ledger.OutcomeIndexed, ledger.OutcomeDeleted:
	default:
		return p // nothing new became searchable
	}
	if p.SearchableAt, p.Here = l.publishTimes.get(answered); !p.Here {
		p.SearchableAt = a.LoggedAt
	}
	return p
}
