package live

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Kind is the kind of a notice.
type Kind string

// The kinds of notices.
const (
	// KindSearchable reports that a push became searchable, or a ref was deleted.
	KindSearchable Kind = "searchable"
	// KindRepository reports that a repository was registered, changed or removed.
	KindRepository Kind = "repository"
	// KindWork reports the progress of the work on a repository.
	KindWork Kind = "work"
	// KindDelivery reports the outcome of a webhook delivery.
	KindDelivery Kind = "delivery"
)

// The values of Notice.Change.
const (
	ChangeRegistered = "registered"
	ChangeChanged    = "changed"
	ChangeRemoved    = "removed"
)

// Notice is one thing that happened. It is shared and must not be modified.
type Notice struct {
	Kind Kind
	// At is the time at which the record was appended, or the work was sampled.
	At time.Time
	// Repository is the repository concerned, as registered then; its ID is 0 for a
	// delivery without a repository.
	Repository code.Repository

	// Change is set for KindRepository: what happened to the repository.
	Change string

	// Ref and Commit are set for KindSearchable; Commit is empty if the ref was deleted.
	Ref    code.Ref
	Commit code.CommitID
	// Files counts the files that changed; -1 if the event does not contain the count.
	Files int
	// PushedAt is when the push was received, IndexedAt when the worker finished.
	PushedAt, IndexedAt time.Time

	// Work is set for KindWork.
	Work Work

	// Delivery is set for KindDelivery.
	Delivery Delivery

	// partition and offset are those of the record; partition is -1 for KindWork.
	partition int32
	offset    event.Offset
}

// Delivery is the outcome of one webhook delivery, or of one of its pushes.
type Delivery struct {
	// Position is the position of the delivery's first event, which identifies the
	// delivery.
	Position event.Position
	// Outcome is waiting, indexed, or one of event.PushOutcome and event.DeliveryOutcome.
	Outcome string
}

// The outcomes that are not constants of package event.
const (
	OutcomeWaiting = "waiting"
	OutcomeIndexed = "indexed"
)

// noticesOf returns the notices of a record; most types of events have none. known is the
// repository before the record was applied, if it was registered.
func (f *Feed) noticesOf(rec event.Record, ev event.Event, known code.Repository) []*Notice {
	base := Notice{At: rec.Time, partition: rec.Position.Partition, offset: rec.Position.Offset}
	base.Repository = known
	switch e := ev.(type) {
	case *event.RepositoryRegistered:
		return []*Notice{base.ofRepository(&e.Repository, ChangeRegistered)}
	case *event.RepositoryChanged:
		return []*Notice{base.ofRepository(&e.Repository, ChangeChanged)}
	case *event.RepositoryRemoved:
		return []*Notice{base.ofRepository(&known, ChangeRemoved)}
	case *event.RevisionIndexed:
		// The notice for all readers comes last: the position follows it.
		return append(f.deliveryNotices(base, OutcomeIndexed, e.Cause), base.ofRevision(e))
	case *event.Push:
		return f.deliveryNotices(base, OutcomeWaiting, rec.Position)
	case *event.PushesHandled:
		return f.handledNotices(base, e)
	case *event.Delivery:
		base.Kind, base.Delivery = KindDelivery, Delivery{rec.Position, string(e.Outcome)}
		if e.Of != nil && e.Outcome == event.DeliveryDuplicate {
			base.Delivery.Position = *e.Of
		}
		return []*Notice{&base}
	}
	return nil
}

func (n Notice) ofRepository(r *code.Repository, change string) *Notice {
	n.Kind, n.Repository, n.Change = KindRepository, *r, change
	return &n
}

func (n Notice) ofRevision(e *event.RevisionIndexed) *Notice {
	n.Kind, n.Ref, n.Commit, n.Files = KindSearchable, e.Ref, e.Commit, len(e.Changes)
	n.PushedAt, n.IndexedAt = e.PushedAt, e.IndexedAt
	if e.ChangesObject != "" {
		n.Files = -1
	}
	return &n
}

// deliveryNotices returns the notice of the delivery that announced a push; none for a
// push that no webhook announced.
func (f *Feed) deliveryNotices(base Notice, outcome string, push event.Position) []*Notice {
	at, ok := f.o.DeliveryOfPush(push)
	if !ok {
		return nil
	}
	base.Kind, base.Delivery = KindDelivery, Delivery{at, outcome}
	return []*Notice{&base}
}

// handledNotices returns one notice for each delivery and outcome of the pushes.
func (f *Feed) handledNotices(base Notice, e *event.PushesHandled) (out []*Notice) {
	seen := map[Delivery]bool{}
	for _, p := range e.Pushes {
		push := event.Position{Topic: event.TopicEvents, Partition: base.partition, Offset: p.Offset}
		for _, n := range f.deliveryNotices(base, string(p.Outcome), push) {
			if !seen[n.Delivery] {
				seen[n.Delivery] = true
				out = append(out, n)
			}
		}
	}
	return out
}
