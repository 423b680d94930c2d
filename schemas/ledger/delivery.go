package ledger

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// Outcomes of a push in addition to event.PushOutcome, and of a delivery without a
// push in addition to event.DeliveryOutcome.
const (
	// OutcomeWaiting says that nothing in the log says yet what happened to it.
	OutcomeWaiting = "waiting"
	// OutcomeFailed says that the workers gave it up.
	OutcomeFailed = "failed"
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
	// Repository is 0 where it is not known. RepositoryName is empty there, and in what the
	// projection returns.
	Repository     code.RepositoryID
	RepositoryName string
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
	// Code, Reason and DeadLetter say why it failed and where its dead letter is. The
	// projection does not know: there it waits.
	Code       failure.Code
	Reason     string
	DeadLetter *event.Position
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

// Query selects deliveries. The zero value selects all.
type Query struct {
	Connection string
	DeliveryID string
	Repository code.RepositoryID
	// Outcome is that of the delivery, or of one of its pushes.
	Outcome string
	// Since leaves out what was received before.
	Since time.Time
	// Cursor is the Next of the page before.
	Cursor string
	// Limit bounds the deliveries of the page.
	Limit int
}

// Page is a part of the list, newest first by the log's time. Partitions are
// merged by it; within each the order is that of the log. A page may be shorter than its
// limit and have a Next, where few deliveries match.
type Page struct {
	Deliveries []*Delivery
	// Next is empty after the last page.
	Next string
}
