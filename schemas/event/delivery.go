package event

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// DeliveryOutcome is the reason why a webhook delivery led to no push.
type DeliveryOutcome string

// Outcomes of deliveries that led to no push. A delivery that led to pushes is
// named in the pushes themselves.
const (
	// DeliveryDuplicate repeats an accepted delivery.
	DeliveryDuplicate DeliveryOutcome = "duplicate"
	// DeliveryTaken led to a reading of the repository from its host, or, before Quarry
	// read it, to a change or removal of the repository.
	DeliveryTaken DeliveryOutcome = "taken"
	// DeliveryIgnored was authentic but not relevant.
	DeliveryIgnored DeliveryOutcome = "ignored"
	// DeliveryRefused could not be verified or parsed.
	DeliveryRefused DeliveryOutcome = "refused"
)

// Delivery records a webhook delivery that led to no push. It has no key. Its
// partition is that of the repeated delivery for a duplicate, that of the appended
// events for a taken delivery, and otherwise a hash of connection and delivery ID.
type Delivery struct {
	Connection string `json:"connection"`
	// DeliveryID is the sender's ID of the delivery, or an ID that Quarry made up.
	DeliveryID string          `json:"deliveryId"`
	Outcome    DeliveryOutcome `json:"outcome"`
	// Reason is a sentence for people; empty for a duplicate.
	Reason string `json:"reason,omitempty"`
	// Of is the first event of the repeated delivery if this is a duplicate, or of this
	// one if it was taken.
	Of         *Position `json:"of,omitempty"`
	BodySHA256 string    `json:"bodySha256,omitempty"`
	// Suppressed counts earlier deliveries of the connection with this outcome that
	// were not recorded because there were too many.
	Suppressed int64     `json:"suppressed,omitempty"`
	ReceivedAt time.Time `json:"receivedAt"`
}

// PushOutcome is the outcome of a push that led to no separate RevisionIndexed.
type PushOutcome string

// Outcomes of pushes without a RevisionIndexed of their own.
const (
	// PushUnchanged means that the ref was already indexed at its commit.
	PushUnchanged PushOutcome = "unchanged"
	// PushUnselected means that the repository does not select the ref.
	PushUnselected PushOutcome = "unselected"
	// PushUnregistered means that the repository was not registered.
	PushUnregistered PushOutcome = "unregistered"
	// PushRefreshed means that every ref of the repository was checked.
	PushRefreshed PushOutcome = "refreshed"
	// PushAbsent means that the ref no longer exists and was not indexed.
	PushAbsent PushOutcome = "absent"
	// PushReplayed means that the push was given up, and that its dead letter was
	// replayed as a later push of the same ref.
	PushReplayed PushOutcome = "replayed"
	// PushDropped means that the push was given up, and that its dead letter was dropped.
	PushDropped PushOutcome = "dropped"
)

// MaxHandledPushes bounds the pushes that one PushesHandled lists.
const MaxHandledPushes = 1000

// PushesHandled reports that pushes are done which led to no RevisionIndexed of their own
// ref. It does not list pushes that a RevisionIndexed answers; such a push is answered by
// the first RevisionIndexed of its repository and ref whose Cause is the push or a later
// event of the partition.
type PushesHandled struct {
	Repository code.RepositoryID `json:"repository"`
	// Pushes are in ascending order of offsets.
	Pushes []HandledPush `json:"pushes"`
	At     time.Time     `json:"at"`
}

// HandledPush is one push of a PushesHandled.
type HandledPush struct {
	// Offset is the offset of the push, in the partition of the event.
	Offset  Offset      `json:"offset"`
	Outcome PushOutcome `json:"outcome"`
	// Commit is the commit of the ref; empty if unknown.
	Commit code.CommitID `json:"commit,omitempty"`
}

// EventType implements Event.
func (*Delivery) EventType() Type      { return TypeDelivery }
func (*PushesHandled) EventType() Type { return TypePushesHandled }

// Key implements Event.
func (e *Delivery) Key() code.RepositoryID      { return 0 }
func (e *PushesHandled) Key() code.RepositoryID { return e.Repository }

func (c *checker) checkDelivery(e *Delivery) {
	c.checkText("connection", e.Connection, 1, MaxConnectionBytes)
	c.checkText("deliveryId", e.DeliveryID, 1, MaxDeliveryIDBytes)
	c.checkText("reason", e.Reason, 0, MaxReasonBytes)
	switch e.Outcome {
	case DeliveryDuplicate:
		if e.Of == nil {
			c.addErrorf("of: a duplicate needs the position of the original")
		}
	case DeliveryTaken:
	case DeliveryIgnored, DeliveryRefused:
		if e.Of != nil {
			c.addErrorf("of: %s leads to no event", e.Outcome)
		}
	default:
		c.addErrorf("outcome: %.80q is unknown", string(e.Outcome))
	}
	if e.Of != nil {
		c.checkPosition("of", *e.Of)
	}
	if e.BodySHA256 != "" {
		c.checkLowerHex("bodySha256", e.BodySHA256, 64)
	}
	c.checkNotNegative("suppressed", e.Suppressed)
	c.checkTime("receivedAt", e.ReceivedAt)
}

func (c *checker) checkPushesHandled(e *PushesHandled) {
	c.checkRepositoryID(e.Repository)
	if len(e.Pushes) == 0 || len(e.Pushes) > MaxHandledPushes {
		c.addErrorf("pushes: %d, want 1 to %d", len(e.Pushes), MaxHandledPushes)
		return
	}
	for i, p := range e.Pushes {
		c.checkNotNegative("pushes.offset", int64(p.Offset))
		if i > 0 && e.Pushes[i-1].Offset >= p.Offset {
			c.addErrorf("pushes: offset %d is not after its predecessor", p.Offset)
		}
		switch p.Outcome {
		case PushUnchanged, PushUnselected, PushUnregistered, PushRefreshed, PushAbsent, PushReplayed, PushDropped:
		default:
			c.addErrorf("pushes.outcome: %.80q is unknown", string(p.Outcome))
		}
		c.checkCommit("pushes.commit", p.Commit)
	}
	c.checkTime("at", e.At)
}
