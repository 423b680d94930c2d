package deadletters

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Reasons why a dead letter is not replayed.
var (
	// ErrOvertaken reports that a later event supersedes the dead letter, which should be
	// dropped.
	ErrOvertaken = errors.New("a later event supersedes the dead letter")
	// ErrNoReplay reports that the dead letter cannot be replaced by an event.
	ErrNoReplay = errors.New("the dead letter cannot be replayed")
)

// scanTimeout bounds the search for later events.
const scanTimeout = time.Minute

// source is the CloudEvents source of events that a replay appends.
const source = "/quarry/deadletters"

// Catalog looks up registered repositories.
type Catalog interface {
	// Registered returns the repository with that ID, and reports whether there is one.
	Registered(id code.RepositoryID) (code.Repository, bool)
}

// ReplayerOptions configure a Replayer. All fields except Now are required.
type ReplayerOptions struct {
	Follower *Follower
	Log      projections.Tailer
	Appender projections.Appender
	Catalog  Catalog
	Now      func() time.Time
}

// Replayer replays or drops dead letters.
type Replayer struct {
	o ReplayerOptions
	// mu is held while a dead letter is processed, so that only one is processed at a
	// time.
	mu sync.Mutex
}

// NewReplayer returns a Replayer.
func NewReplayer(o ReplayerOptions) (*Replayer, error) {
	if o.Follower == nil || o.Log == nil || o.Appender == nil || o.Catalog == nil {
		return nil, errors.New("deadletters: want a follower, a log, an appender and a catalog")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Replayer{o: o}, nil
}

// Replay appends the replacement of an open dead letter, then resolves it. It returns the
// position of the new event. It returns code.ErrNotFound for a dead letter that is not
// open, ErrOvertaken or ErrNoReplay. After any failure the dead letter is open, even if
// the event was appended.
func (r *Replayer) Replay(ctx context.Context, at event.Position) (event.Position, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	letter, err := r.o.Follower.Read(ctx, at)
	if err != nil {
		return event.Position{}, err
	}
	given, err := r.originalRecord(ctx, letter)
	if err != nil {
		return event.Position{}, err
	}
	next, err := r.chooseSuccessor(ctx, given)
	if err != nil {
		return event.Position{}, fmt.Errorf("dead letter %d-%d: %w", at.Partition, at.Offset, err)
	}
	by, err := r.append(ctx, letter, next)
	if err != nil {
		return event.Position{}, err
	}
	return by, r.resolveLetter(ctx, letter, given, event.LetterReplayed, &by, "")
}

// Drop resolves an open dead letter without a replacement. The reason is for people and
// may be empty. It returns code.ErrNotFound for a dead letter that is not open.
func (r *Replayer) Drop(ctx context.Context, at event.Position, reason string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	letter, err := r.o.Follower.Read(ctx, at)
	if err != nil {
		return err
	}
	return r.resolveLetter(ctx, letter, event.Original(letter), event.LetterDropped, nil, reason)
}

// originalRecord returns the record that was given up. If the dead letter lacks a part of
// it, it reads the record from the log.
func (r *Replayer) originalRecord(ctx context.Context, letter event.Record) (event.Record, error) {
	given := event.Original(letter)
	kept := given.Position.Topic == event.TopicEvents || given.Position.Topic == event.TopicAudit
	if len(given.Value) > 0 || !kept {
		return given, nil
	}
	rec, found, err := readOne(ctx, r.o.Log, given.Position)
	if err != nil || !found {
		return given, err
	}
	return rec, nil
}

// append writes the event that replaces the dead letter and names it. The ID is derived
// from the dead letter, so a second replay yields the same ID.
func (r *Replayer) append(ctx context.Context, letter event.Record, next successor) (event.Position, error) {
	rec, err := event.Encode(event.Envelope{ID: event.DerivedID(letter.Position, "replay"), Source: source, Time: r.o.Now().UTC()}, next.ev)
	if err != nil {
		return event.Position{}, err
	}
	rec.Headers = append(rec.Headers, event.Header{Name: event.HeaderReplayOf, Value: []byte(letter.Position.String())})
	positions, err := r.o.Appender.Append(ctx, next.targetTopic(), next.partition, rec)
	if err != nil {
		return event.Position{}, fmt.Errorf("replay dead letter %s: %w", letter.Position, err)
	}
	return positions[0], nil
}

// resolveLetter records the outcome of a push in the ledger, then closes the dead letter.
func (r *Replayer) resolveLetter(ctx context.Context, letter, given event.Record, what event.Resolution, by *event.Position, reason string) error {
	if err := r.answerPush(ctx, letter, given, what); err != nil {
		return err
	}
	rec := event.Resolve(letter, what, by, r.o.Now(), reason)
	if _, err := r.o.Appender.Append(ctx, event.TopicDeadLetters, letter.Position.Partition, rec); err != nil {
		return fmt.Errorf("resolve dead letter %s: %w", letter.Position, err)
	}
	r.o.Follower.openLetters.resolveLetter(letter.Position)
	r.o.Follower.metrics.resolved.WithLabelValues(string(what)).Inc()
	return nil
}

// answerPush appends the outcome of a push that was given up, to the partition of the
// push.
func (r *Replayer) answerPush(ctx context.Context, letter, given event.Record, what event.Resolution) error {
	id, ok := event.RepositoryOfKey(given.Key)
	if event.TypeOf(given) != event.TypePush || given.Position.Topic != event.TopicEvents || !ok {
		return nil
	}
	outcome := event.PushReplayed
	switch what {
	case event.LetterDropped:
		outcome = event.PushDropped
	case event.LetterSuperseded:
		outcome = event.PushRefreshed // does not count if a RevisionIndexed has answered the push
	}
	ev := &event.PushesHandled{Repository: id, Pushes: []event.HandledPush{{Offset: given.Position.Offset, Outcome: outcome}}, At: r.o.Now().UTC()}
	rec, err := event.Encode(event.Envelope{ID: event.DerivedID(letter.Position, string(outcome)), Source: source, Time: ev.At}, ev)
	if err != nil {
		return err
	}
	if _, err := r.o.Appender.Append(ctx, event.TopicEvents, given.Position.Partition, rec); err != nil {
		return fmt.Errorf("answer the push at %s: %w", given.Position, err)
	}
	return nil
}
