package deliveries

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Outcomes of a push in addition to event.PushOutcome, and of a delivery without a
// push in addition to event.DeliveryOutcome.
const (
	// OutcomeWaiting says that nothing in the log says yet what happened to it.
	OutcomeWaiting = "waiting"
	// OutcomeIndexed says that its ref was indexed because of it.
	OutcomeIndexed = "indexed"
	// OutcomeCoalesced says that a later push of its ref waited as well, and both
	// were indexed together.
	OutcomeCoalesced = "coalesced"
	// OutcomeDeleted says that its ref was gone, and was taken out of the index.
	OutcomeDeleted = "deleted"
)

// Delivery is what was delivered at once: the pushes of one connection and
// delivery ID, or what led to none.
type Delivery struct {
	// Position is that of its first event.
	Position event.Position
	// Source is the component that wrote the event, such as /webhooks/github/hub.
	Source string
	// Connection, DeliveryID and BodySHA256 are empty if the push did not come by
	// webhook.
	Connection, DeliveryID, BodySHA256 string
	// Repository is 0 where it is not known.
	Repository code.RepositoryID
	// ReceivedAt is the receiver's clock, LoggedAt the log's.
	ReceivedAt, LoggedAt time.Time
	// Pushes are its refs, in the order of their positions.
	Pushes []Push
	// Duplicates counts the deliveries that repeat this one; the latest was
	// received at LastDuplicateAt.
	Duplicates      int64
	LastDuplicateAt time.Time
	// Outcome, Reason, Of and Suppressed are those of event.Delivery; Outcome is
	// empty for a delivery with pushes.
	Outcome, Reason string
	Of              *event.Position
	Suppressed      int64
}

// Push is one ref of a delivery.
type Push struct {
	Position      event.Position
	Ref           code.Ref // empty: all refs
	Before, After code.CommitID
	Action        event.Action
	Outcome       string
	// Commit is the commit of the ref; empty if unknown or gone.
	Commit code.CommitID
	// Changes counts the paths that changed; nil if they are not counted: there
	// are too many for the event. Documents counts those that were new, Segments
	// the segments that hold them.
	Changes             *int
	Documents, Segments int
	// Cause is the push that was indexed with this one, where that is another.
	Cause *event.Position
	// Answered is the event that says so; nil while it waits.
	Answered *event.Position
	// DoneAt is when the worker was done, SearchableAt since when searches see it;
	// both are zero while it waits, SearchableAt also for what changed nothing.
	DoneAt, SearchableAt time.Time
	// Here says that SearchableAt was observed by this process; otherwise it is
	// when the log took the event.
	Here bool
}

// toDelivery makes a Delivery of an entry, without its pushes.
func (e *entryRow) toDelivery(at event.Position) *Delivery {
	d := &Delivery{
		Position: at, Source: e.Source, Connection: e.Connection, DeliveryID: e.DeliveryID, BodySHA256: e.BodySHA256,
		Repository: e.Repository, ReceivedAt: e.ReceivedAt, LoggedAt: e.LoggedAt,
		Outcome: e.Outcome, Reason: e.Reason, Of: e.Of, Suppressed: e.Suppressed,
	}
	if e.Duplicates != nil {
		d.Duplicates, d.LastDuplicateAt = e.Duplicates.Count, e.Duplicates.Last
	}
	return d
}

// toPush makes a Push of a row.
func (l *Ledger) toPush(at event.Position, row *pushRow) Push {
	p := Push{Position: at, Ref: row.Ref, Before: row.Before, After: row.After, Action: row.Action, Outcome: OutcomeWaiting}
	a := row.Answer
	if a == nil {
		return p
	}
	p.Outcome, p.Commit, p.Changes, p.Documents, p.Segments, p.DoneAt = a.Outcome, a.Commit, a.Changes, a.Documents, a.Segments, a.DoneAt
	answered := at
	answered.Offset = a.Answered
	p.Answered = &answered
	switch a.Outcome {
	case OutcomeCoalesced:
		cause := at
		cause.Offset = a.Cause
		p.Cause = &cause
	case OutcomeIndexed, OutcomeDeleted:
	default:
		return p // nothing became searchable
	}
	if p.SearchableAt, p.Here = l.publishTimes.get(answered); !p.Here {
		p.SearchableAt = a.LoggedAt
	}
	return p
}
