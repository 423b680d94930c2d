package deadletters

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/ledger"
)

// A dead letter of the workers is superseded once a later event of its repository did the
// work that was given up: the state of the host counts, so a later fetch of the same ref,
// or of all refs, includes it.

const (
	// supersedeEvery is the interval at which the log is searched for events that
	// supersede dead letters.
	supersedeEvery = 10 * time.Second
	// maxSupersedeRecords bounds the records that are read from a partition in one round.
	// After a restart, those since the oldest open dead letter are read again.
	maxSupersedeRecords = 50_000
	// maxLaterPushes bounds the later pushes without an outcome that are tracked for one
	// dead letter. Their outcome is needed only if it is not a RevisionIndexed.
	maxLaterPushes = 1000
)

// Run resolves superseded dead letters until ctx ends. It retries after failures of the
// log.
func (r *Replayer) Run(ctx context.Context) error {
	s := supersession{r: r, watched: map[event.Position]*watchedLetter{}}
	for clock.Sleep(ctx, supersedeEvery) == nil {
		if err := s.resolveSuperseded(ctx); err != nil && ctx.Err() == nil {
			r.o.Follower.o.Logger.Warn("superseded dead letters cannot be resolved; trying again", "error", err)
		}
	}
	return nil
}

// ResolveSuperseded resolves the dead letters that later events of the log supersede.
func (r *Replayer) ResolveSuperseded(ctx context.Context) error {
	s := supersession{r: r, watched: map[event.Position]*watchedLetter{}}
	return s.resolveSuperseded(ctx)
}

// supersession searches the log for events that supersede open dead letters.
type supersession struct {
	r       *Replayer
	watched map[event.Position]*watchedLetter
}

// watchedLetter is an open dead letter of the workers, and what the records after the
// event that was given up say about it.
type watchedLetter struct {
	ledger.DeadLetter
	// push means that the event is a Push of ref; an empty ref means all refs. Otherwise
	// the event is a registration or a change.
	push bool
	ref  code.Ref
	// next is the offset of the next record to read.
	next event.Offset
	// pushes are later pushes of the same ref or of all refs without an outcome, all the
	// causes of a later fetch of all refs.
	pushes map[event.Offset]code.Ref
	all    map[event.Offset]bool
}

// resolveSuperseded reads the records that are new since the last call.
func (s *supersession) resolveSuperseded(ctx context.Context) error {
	byPartition, err := s.watchOpenLetters(ctx)
	if err != nil || len(byPartition) == 0 {
		return err
	}
	high, err := s.r.o.Follower.o.Log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return err
	}
	for partition, letters := range byPartition {
		if int(partition) >= len(high) {
			continue
		}
		if err := s.readPartition(ctx, partition, high[partition], letters); err != nil {
			return fmt.Errorf("partition %d: %w", partition, err)
		}
	}
	return nil
}

// watchOpenLetters updates the watched letters to the open ones, and returns them by the
// partition of the event that was given up.
func (s *supersession) watchOpenLetters(ctx context.Context) (map[int32][]*watchedLetter, error) {
	former := s.watched
	s.watched = map[event.Position]*watchedLetter{}
	byPartition := map[int32][]*watchedLetter{}
	for _, l := range s.r.o.Follower.openLetters.listLetters() {
		if l.Stage != StageWorker || l.Of.Topic != event.TopicEvents || l.Repository == 0 ||
			l.Type != event.TypePush && l.Type != event.TypeRepositoryRegistered && l.Type != event.TypeRepositoryChanged {
			continue
		}
		w := former[l.Position]
		if w == nil {
			w = &watchedLetter{DeadLetter: l, next: l.Of.Offset + 1, pushes: map[event.Offset]code.Ref{}, all: map[event.Offset]bool{}}
			if l.Type == event.TypePush {
				letter, err := s.r.o.Follower.Read(ctx, l.Position)
				if errors.Is(err, code.ErrNotFound) {
					continue // it was resolved meanwhile
				} else if err != nil {
					return nil, err
				}
				given, err := s.r.originalRecord(ctx, letter)
				if err != nil {
					return nil, err
				}
				_, ev, err := event.Decode(given)
				if p, ok := ev.(*event.Push); ok && err == nil {
					w.push, w.ref = true, p.Ref
				}
			}
		}
		s.watched[l.Position] = w
		byPartition[l.Of.Partition] = append(byPartition[l.Of.Partition], w)
	}
	return byPartition, nil
}

// readPartition reads new records of a partition and resolves the letters that they
// supersede.
func (s *supersession) readPartition(ctx context.Context, partition int32, end event.Offset, letters []*watchedLetter) error {
	ctx, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	from, byRepository := end, map[code.RepositoryID][]*watchedLetter{}
	for _, w := range letters {
		from = min(from, w.next)
		byRepository[w.Repository] = append(byRepository[w.Repository], w)
	}
	end = min(end, from+maxSupersedeRecords)
	for rec, err := range event.ReadRange(ctx, s.r.o.Log, event.TopicEvents, partition, from, end) {
		if err != nil {
			return err
		}
		id, ok := event.RepositoryOfKey(rec.Key)
		if !ok || len(byRepository[id]) == 0 || !supersedes(event.TypeOf(rec)) {
			continue
		}
		_, ev, err := event.Decode(rec)
		if err != nil {
			continue // other components report it
		}
		for _, w := range byRepository[id] {
			if rec.Position.Offset < w.next || s.watched[w.Position] != w {
				continue
			}
			if reason := w.takeEvent(ev, rec.Position.Offset); reason != "" {
				if err := s.resolve(ctx, w, rec.Position, reason); err != nil {
					return err
				}
				delete(s.watched, w.Position)
			}
		}
	}
	for _, w := range letters {
		w.next = max(w.next, end)
	}
	return nil
}

// supersedes reports whether events of a type are relevant for dead letters.
func supersedes(t event.Type) bool {
	switch t {
	case event.TypePush, event.TypePushesHandled, event.TypeRevisionIndexed, event.TypeRepositoryRegistered, event.TypeRepositoryChanged, event.TypeRepositoryRemoved:
		return true
	}
	return false
}

// takeEvent takes a later event of the repository. It returns the reason if the event
// supersedes the dead letter.
func (w *watchedLetter) takeEvent(ev event.Event, at event.Offset) (reason string) {
	switch e := ev.(type) {
	case *event.RepositoryRemoved:
		return "the repository was removed"
	case *event.RepositoryRegistered, *event.RepositoryChanged:
		if len(w.all) < maxLaterPushes {
			w.all[at] = true
		}
	case *event.Push:
		if e.Ref == "" || w.push && e.Ref == w.ref {
			if len(w.pushes) < maxLaterPushes {
				w.pushes[at] = e.Ref
			}
			if e.Ref == "" && len(w.all) < maxLaterPushes {
				w.all[at] = true
			}
		}
	case *event.RevisionIndexed:
		switch {
		case e.Cause.Offset <= w.Of.Offset:
		case w.push && e.Ref == w.ref:
			return fmt.Sprintf("a later event indexed %s", e.Ref)
		case w.push && w.ref != "":
		case w.all[e.Cause.Offset], w.Type == event.TypeRepositoryRegistered && e.BaseRef == "" && e.Commit != "":
			// All refs were fetched: on request, or because nothing was indexed.
			return "a later event indexed the repository"
		}
	case *event.PushesHandled:
		for _, p := range e.Pushes {
			ref, ok := w.pushes[p.Offset]
			delete(w.pushes, p.Offset)
			switch {
			case !ok:
			case p.Outcome == event.PushRefreshed && ref == "":
				return "a later event checked every ref"
			case ref != "" && (p.Outcome == event.PushUnchanged || p.Outcome == event.PushAbsent || p.Outcome == event.PushUnselected):
				return fmt.Sprintf("a later push of %s was handled: %s", ref, p.Outcome)
			}
		}
	}
	return ""
}

// resolve resolves a superseded dead letter, unless it was resolved meanwhile.
func (s *supersession) resolve(ctx context.Context, w *watchedLetter, by event.Position, reason string) error {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	letter, err := s.r.o.Follower.Read(ctx, w.Position)
	if errors.Is(err, code.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = s.r.resolveLetter(ctx, letter, event.Original(letter), event.LetterSuperseded, &by, reason)
	}
	if err == nil {
		s.r.o.Follower.o.Logger.Info("dead letter superseded", "dead_letter", w.Position.String(), "type", string(w.Type), "repository_id", w.Repository,
			"ref", string(w.ref), "position", by.String(), "reason", reason)
	}
	return err
}
