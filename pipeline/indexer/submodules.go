package indexer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// announceSubmodules announces the submodules of the default branch if they differ from
// the ones last announced. If the option is off, the list is empty.
func (x *Indexer) announceSubmodules(ctx context.Context, m *mirror.Mirror, r code.Repository, head code.Ref, c cause) error {
	var list []code.Submodule
	if r.Submodules && head != "" {
		commit, err := m.IndexedCommit(ctx, head)
		if err != nil || commit == "" {
			return err
		}
		if list, err = m.ListSubmodules(ctx, r, commit, event.MaxSubmodules); err != nil {
			if ctx.Err() != nil {
				return err
			}
			x.o.Logger.Warn("cannot list the submodules of a repository", "repository", r.Name, "repository_id", r.ID, "commit", string(commit), "error", err)
			return nil // everything else is indexed
		}
		list = slices.DeleteFunc(list, func(s code.Submodule) bool { return event.ValidateSubmodule(s) != nil })
	}
	if slices.Equal(list, m.Submodules()) {
		return nil
	}
	ev := &event.SubmodulesListed{Repository: r.ID, Submodules: slices.Concat([]code.Submodule{}, list), Cause: c.position, At: x.o.Now()}
	env := event.Envelope{ID: event.DerivedID(c.position, "submodules"), Source: source, Time: ev.At}
	rec, err := event.Encode(env, ev)
	for errors.Is(err, event.ErrTooLarge) && len(ev.Submodules) > 0 { // URLs that grow when encoded
		ev.Submodules = ev.Submodules[:len(ev.Submodules)/2]
		rec, err = event.Encode(env, ev)
	}
	if err != nil {
		return err
	}
	if _, err := x.o.Log.Append(ctx, event.TopicEvents, eventlog.AnyPartition, rec); err != nil {
		return fmt.Errorf("announce %d submodules: %w", len(list), err)
	}
	return m.SaveSubmodules(list)
}

// latestPins returns the last of the consecutive changes of the pins of a repository that
// records begin with, its position and their number: each replaces the one before.
func latestPins(first *event.PinsChanged, records []event.Record) (last *event.PinsChanged, at event.Position, n int) {
	last, at, n = first, records[0].Position, 1
	for ; n < len(records) && event.TypeOf(records[n]) == event.TypePinsChanged; n++ {
		_, ev, err := event.Decode(records[n])
		next, ok := ev.(*event.PinsChanged)
		if err != nil || !ok || next.Repository != first.Repository {
			break
		}
		last, at = next, records[n].Position
	}
	return last, at, n
}

// handlePins stores the pins of a repository and indexes them. If the mirror is lost, it
// indexes all refs.
func (x *Indexer) handlePins(ctx context.Context, ev *event.PinsChanged, at event.Position, job *job) error {
	m := x.o.Mirrors.Mirror(ev.Repository)
	r, err := x.loadRepository(ctx, m, ev.Repository, at)
	if err != nil {
		return ignoreUnregistered(err)
	}
	if err := m.SavePins(ev.Commits); err != nil {
		return err
	}
	v := indexRequest{cause: sameCause(cause{position: at, receivedAt: ev.At})}
	head := m.AnnouncedDefault()
	if !x.isIndexed(ctx, m, head) {
		_, err := x.indexRepository(ctx, m, r, v, job)
		return err
	}
	_, err = x.indexAnnouncedPins(ctx, m, r, head, v, job)
	return err
}

// indexAnnouncedPins calls indexPins. If the mirror may lack announced pins, it reads them
// from the log.
func (x *Indexer) indexAnnouncedPins(ctx context.Context, m *mirror.Mirror, r code.Repository, head code.Ref, v indexRequest, job *job) (map[code.Ref]refOutcome, error) {
	known, err := indexedCommits(ctx, m)
	if err == nil && !m.IndexedComplete() {
		var announced map[code.Ref]code.CommitID
		announced, err = x.lastAnnounced(ctx, r.ID, v.cause("").position)
		maps.Copy(known, announced)
	}
	if err != nil {
		return nil, err
	}
	return x.indexPins(ctx, m, r, head, v, known, job)
}

// indexPins indexes the pins that an indexed branch or tag leads to, removes the others of
// the known refs from the index, and returns the outcome of each. It fetches nothing.
func (x *Indexer) indexPins(ctx context.Context, m *mirror.Mirror, r code.Repository, head code.Ref, v indexRequest, known map[code.Ref]code.CommitID, job *job) (map[code.Ref]refOutcome, error) {
	pins, err := x.resolvePins(ctx, m, r)
	if err != nil {
		return nil, err
	}
	outcomes := map[code.Ref]refOutcome{}
	added, err := x.indexRefs(ctx, m, newRevisions(pins, r.ID, head, v), v.cause, job)
	if err != nil {
		return nil, err
	}
	for _, pin := range pins {
		outcomes[pin.Ref] = refOutcome{pin.Commit, added[pin.Ref]}
	}
	var dropped []code.Ref
	for _, ref := range slices.Sorted(maps.Keys(known)) {
		if _, kept := outcomes[ref]; ref.IsPin() && !kept {
			dropped = append(dropped, ref)
		}
	}
	removed, err := x.removeRefs(ctx, m, r.ID, head, dropped, v.cause)
	for _, ref := range dropped {
		outcomes[ref] = refOutcome{"", removed[ref]}
	}
	return outcomes, err
}

// resolvePins returns the pins of a repository that an indexed branch or tag leads to. It
// counts and logs the others.
func (x *Indexer) resolvePins(ctx context.Context, m *mirror.Mirror, r code.Repository) ([]code.Revision, error) {
	commits, err := m.Pins()
	if err != nil {
		return nil, err
	}
	pins, unreachable, err := m.ResolvePins(ctx, commits)
	if err != nil {
		return nil, err
	}
	if len(unreachable) > 0 {
		x.metrics.unreachablePins.Add(float64(len(unreachable)))
		x.o.Logger.Warn("pins are not indexed: no indexed branch or tag leads to them", "repository", r.Name, "repository_id", r.ID,
			"pins", len(unreachable), "first", string(unreachable[0]))
	}
	return pins, nil
}
