package ledger

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// Outcomes in addition to event.PushOutcome for a push, and to event.DeliveryOutcome for
// a delivery without a push.
const (
	// OutcomeWaiting means that the log does not contain the outcome yet.
	OutcomeWaiting = "waiting"
	// OutcomeFailed means that the workers gave up the push.
	OutcomeFailed = "failed"
	// OutcomeIndexed means that the push led to the indexing of its ref.
	OutcomeIndexed = "indexed"
	// OutcomeCoalesced means that a later push of the same ref was also waiting, and that
	// both were indexed together.
	OutcomeCoalesced = "coalesced"
	// OutcomeDeleted means that the ref no longer existed and was removed from the index.
	OutcomeDeleted = "deleted"
)

// Delivery is a webhook delivery: the pushes with one connection and delivery ID, or one
// delivery that led to no push.
type Delivery struct {
	// Position is the position of its first event.
	Position event.Position
	// Source is the component that wrote the event, such as /webhooks/github/hub.
	Source string
	// Connection, DeliveryID and BodySHA256 are empty if the push did not come from a
	// webhook.
	Connection, DeliveryID, BodySHA256 string
	// Repository is 0 if unknown. RepositoryName is empty then, and always in results of
	// the projection.
	Repository     code.RepositoryID
	RepositoryName string
	// ReceivedAt is the time of receipt by the receiver's clock, LoggedAt the time of the
	// append by the log's clock.
	ReceivedAt, LoggedAt time.Time
	// Pushes are its pushes, one per ref, in the order of their positions.
	Pushes []Push
	// Duplicates counts the deliveries that repeat this one; the latest was
	// received at LastDuplicateAt.
	Duplicates      int64
	LastDuplicateAt time.Time
	// Outcome, Reason, Of and Suppressed are the fields of event.Delivery; Outcome is
	// empty for a delivery with pushes.
	Outcome, Reason string
	Of              *event.Position
	Suppressed      int64
}

// Push is the push of one ref in a delivery.
type Push struct {
	Position      event.Position
	Ref           code.Ref // empty: all refs
	Before, After code.CommitID
	Action        event.Action
	Outcome       string
	// Code, Reason and DeadLetter describe the failure and name its dead letter. The
	// projection does not know failures: it reports such a push as waiting.
	Code       failure.Code
	Reason     string
	DeadLetter *event.Position
	// Commit is the commit of the ref; empty if it is unknown or the ref is deleted.
	Commit code.CommitID
	// Changes counts the changed paths; nil if there were too many for the event, which
	// then does not count them. Documents counts the new documents, Segments the segments
	// that contain them.
	Changes             *int
	Documents, Segments int
	// Cause is the other push that was indexed together with this one, if any.
	Cause *event.Position
	// Answered is the event that contains the outcome; nil while the push waits.
	Answered *event.Position
	// DoneAt is the time when the worker finished, SearchableAt the time since which
	// searches see the result. Both are zero while the push waits; SearchableAt is also
	// zero if nothing changed.
	DoneAt, SearchableAt time.Time
	// Here reports that this process observed SearchableAt; otherwise SearchableAt is the
	// time when the event was appended to the log.
	Here bool
}

// Query selects deliveries. The zero value selects all.
type Query struct {
	Connection string
	DeliveryID string
	Repository code.RepositoryID
	// Outcome is the outcome of the delivery or of one of its pushes.
	Outcome string
	// Since excludes deliveries received before that time.
	Since time.Time
	// Cursor is Page.Next of the previous page.
	Cursor string
	// Limit bounds the deliveries of the page.
	Limit int
}

// Page is a part of the list, newest first by the log's time. Partitions are merged by
// that time; within each, the order of the log applies. If few deliveries match, a page
// may be shorter than its limit and still have a Next.
type Page struct {
	Deliveries []*Delivery
	// Next is empty after the last page.
	Next string
}
