package deadletters

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"reflect"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// successor is the event that replaces a dead letter.
type successor struct {
	ev        event.Event
	partition int32
}

// targetTopic returns the topic of the event.
func (s successor) targetTopic() event.Topic {
	if s.ev.EventType() == event.TypeAuditRecorded {
		return event.TopicAudit
	}
	return event.TopicEvents
}

// chooseSuccessor chooses the event by the rules in the package documentation.
func (r *Replayer) chooseSuccessor(ctx context.Context, given event.Record) (successor, error) {
	if given.Position.Topic == event.TopicAccounts {
		return successor{}, fmt.Errorf("%w: later changes of accounts would be undone; if the change is still wanted, make it by hand, and drop the dead letter", ErrNoReplay)
	}
	_, ev, err := event.Decode(given)
	if err != nil {
		return successor{}, fmt.Errorf("%w: this version cannot read the record; if a newer one wrote it, upgrade, else drop the dead letter: %w", ErrNoReplay, err)
	}
	switch e := ev.(type) {
	case *event.Push:
		return successor{r.repeatPush(e, given.Position), event.AnyPartition}, nil
	case *event.RepositoryRegistered:
		return r.replaceRegistration(ctx, given, e, e.Repository)
	case *event.RepositoryChanged:
		return r.replaceRegistration(ctx, given, e, e.Repository)
	case *event.RepositoryRemoved:
		return r.replaceRemoval(ctx, given, e)
	case *event.RevisionIndexed:
		return successor{r.newRefresh(e.Repository, e.Ref, given.Position), event.AnyPartition}, nil
	case *event.ScipUploaded:
		return r.replaceScipUpload(ctx, given, e)
	case *event.ErasureRequested, *event.ScipDeleted:
		return successor{ev, event.AnyPartition}, nil
	case *event.SubmodulesListed, *event.PinsChanged:
		return r.replaceIfLatest(ctx, given, ev)
	case *event.PushesHandled, *event.Delivery, *event.AuditRecorded:
		return successor{ev, given.Position.Partition}, nil
	}
	return successor{}, fmt.Errorf("%w: a merge that was not applied loses nothing, and the compactor merges again; drop the dead letter", ErrNoReplay)
}

// repeatPush repeats a push. The new receipt time is now, because the time in the dead
// letters is not indexing time.
func (r *Replayer) repeatPush(e *event.Push, at event.Position) *event.Push {
	again := *e
	again.DeliveryID, again.BodySHA256, again.ReceivedAt = replayID(at), "", r.o.Now().UTC()
	return &again
}

func (r *Replayer) newRefresh(id code.RepositoryID, ref code.Ref, at event.Position) *event.Push {
	return &event.Push{Repository: id, Ref: ref, Action: event.ActionRefresh, DeliveryID: replayID(at), ReceivedAt: r.o.Now().UTC()}
}

// replayID returns the delivery ID of the push that replaces the record at a position.
// Two replays are one delivery.
func replayID(at event.Position) string {
	return fmt.Sprintf("replay-of-%d-%d", at.Partition, at.Offset)
}

// replaceRegistration chooses the replacement of a registration, or of a change, with the
// given state. It prefers a refresh, which cannot undo events that are appended between
// the check and the append.
func (r *Replayer) replaceRegistration(ctx context.Context, given event.Record, ev event.Event, says code.Repository) (successor, error) {
	later, err := r.laterEventType(ctx, given)
	if err != nil {
		return successor{}, err
	}
	known, registered := r.o.Catalog.Registered(ev.Key())
	refresh := successor{r.newRefresh(ev.Key(), "", given.Position), event.AnyPartition}
	switch {
	case later == event.TypeRepositoryRemoved:
		return successor{}, fmt.Errorf("%w: repository %s was removed after it; drop the dead letter", ErrOvertaken, ev.Key())
	case later != "":
		return refresh, nil
	case registered && catalogShows(known, says):
		return refresh, nil
	case !registered && ev.EventType() == event.TypeRepositoryChanged:
		return successor{}, fmt.Errorf("%w: repository %s is not registered; drop the dead letter", ErrOvertaken, ev.Key())
	}
	return successor{ev, event.AnyPartition}, nil
}

// catalogShows reports whether the catalog shows the state in an event. If that is
// unknown, the event is appended again, which is harmless.
func catalogShows(known, says code.Repository) bool {
	if says.DefaultBranch == "" {
		says.DefaultBranch = known.DefaultBranch
	}
	return reflect.DeepEqual(known, says)
}

func (r *Replayer) replaceRemoval(ctx context.Context, given event.Record, ev *event.RepositoryRemoved) (successor, error) {
	later, err := r.laterEventType(ctx, given)
	if err != nil {
		return successor{}, err
	}
	if later != "" && later != event.TypeRepositoryRemoved {
		return successor{}, fmt.Errorf("%w: repository %s was registered or changed after it; drop the dead letter, or remove the repository", ErrOvertaken, ev.Repository)
	}
	return successor{ev, event.AnyPartition}, nil
}

// replaceIfLatest refuses an event that a later one of its type, or the removal of its
// repository, has replaced.
func (r *Replayer) replaceIfLatest(ctx context.Context, given event.Record, ev event.Event) (successor, error) {
	for rec, err := range r.laterRecords(ctx, given) {
		if err != nil {
			return successor{}, err
		}
		if t := event.TypeOf(rec); t == ev.EventType() || t == event.TypeRepositoryRemoved {
			return successor{}, fmt.Errorf("%w: a later event has replaced it; drop the dead letter", ErrOvertaken)
		}
	}
	return successor{ev, event.AnyPartition}, nil
}

// replaceScipUpload refuses an upload that was deleted or erased after the record.
func (r *Replayer) replaceScipUpload(ctx context.Context, given event.Record, ev *event.ScipUploaded) (successor, error) {
	for rec, err := range r.laterRecords(ctx, given) {
		if err != nil {
			return successor{}, err
		}
		switch event.TypeOf(rec) {
		case event.TypeScipDeleted, event.TypeErasureRequested, event.TypeRepositoryRemoved:
		default:
			continue
		}
		_, later, err := event.Decode(rec)
		if err != nil {
			return successor{}, fmt.Errorf("%w: an event after it cannot be read; upload the index again, and drop the dead letter: %w", ErrNoReplay, err)
		}
		if deleted, ok := later.(*event.ScipDeleted); !ok || deleted.Object == ev.Object {
			return successor{}, fmt.Errorf("%w: the precise index was deleted or erased after it; drop the dead letter", ErrOvertaken)
		}
	}
	return successor{ev, event.AnyPartition}, nil
}

// laterEventType returns the type of the last registration, change or removal of the
// record's repository after the record, or "" if there is none. A change counts only
// after a registration, or if no removal precedes it, because a change alone does not
// register a repository again.
func (r *Replayer) laterEventType(ctx context.Context, given event.Record) (last event.Type, err error) {
	for rec, err := range r.laterRecords(ctx, given) {
		if err != nil {
			return "", err
		}
		switch t := event.TypeOf(rec); t {
		case event.TypeRepositoryRegistered, event.TypeRepositoryRemoved:
			last = t
		case event.TypeRepositoryChanged:
			if last != event.TypeRepositoryRemoved {
				last = t
			}
		}
	}
	return last, nil
}

// laterRecords returns the records of the same repository after a record. It takes at most
// scanTimeout.
func (r *Replayer) laterRecords(ctx context.Context, given event.Record) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		ctx, cancel := context.WithTimeout(ctx, scanTimeout)
		defer cancel()
		high, err := r.o.Log.HighWater(ctx, event.TopicEvents)
		if err != nil {
			yield(event.Record{}, err)
			return
		}
		at := given.Position
		if at.Topic != event.TopicEvents || int(at.Partition) >= len(high) {
			yield(event.Record{}, fmt.Errorf("%w: it does not name the original event", ErrNoReplay))
			return
		}
		for rec, err := range event.ReadRange(ctx, r.o.Log, event.TopicEvents, at.Partition, at.Offset+1, high[at.Partition]) {
			if err != nil {
				yield(event.Record{}, fmt.Errorf("look for events after %s: %w", at, err))
				return
			}
			if bytes.Equal(rec.Key, given.Key) && !yield(rec, nil) {
				return
			}
		}
	}
}
