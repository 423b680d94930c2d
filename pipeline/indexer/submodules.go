package indexer

import (
	"context"
	"fmt"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// announceSubmodules announces the submodules of the default branch if they differ from
// the ones last announced. Without the option submodules there are none.
func (x *Indexer) announceSubmodules(ctx context.Context, m *mirror.Mirror, r code.Repository, head code.Ref, c cause) error {
	if head == "" {
		return nil
	}
	var list []code.Submodule
	if r.Submodules {
		commit, err := m.IndexedCommit(ctx, head)
		if err != nil || commit == "" {
			return err
		}
		if list, err = m.ListSubmodules(ctx, r, commit, event.MaxSubmodules); err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(s code.Submodule) bool { return event.ValidateSubmodule(s) != nil })
	}
	if slices.Equal(list, m.Submodules()) {
		return nil
	}
	ev := &event.SubmodulesListed{Repository: r.ID, Submodules: slices.Concat([]code.Submodule{}, list), Cause: c.position, At: x.o.Now()}
	rec, err := event.Encode(event.Envelope{ID: event.DerivedID(c.position, "submodules"), Source: source, Time: ev.At}, ev)
	if err != nil { // too large, for example; the push is indexed anyway
		x.o.Logger.Warn("cannot announce the submodules of a repository", "repository", r.Name, "repository_id", r.ID, "error", err)
		return nil
	}
	if _, err := x.o.Log.Append(ctx, event.TopicEvents, eventlog.AnyPartition, rec); err != nil {
		return fmt.Errorf("announce %d submodules: %w", len(list), err)
	}
	return m.SaveSubmodules(list)
}

// handlePins stores the pins of a repository and indexes them. If nothing of the
// repository is indexed yet, its registration indexes them.
func (x *Indexer) handlePins(ctx context.Context, ev *event.PinsChanged, at event.Position, job *job) error {
	m := x.o.Mirrors.Mirror(ev.Repository)
	r, err := x.loadRepository(ctx, m, ev.Repository, at)
	if err != nil {
		return ignoreUnregistered(err)
	}
	if err := m.SavePins(ev.Commits); err != nil {
		return err
	}
	head := m.AnnouncedDefault()
	if !x.isIndexed(ctx, m, head) {
		return nil
	}
	_, err = x.indexPins(ctx, m, r, head, indexRequest{cause: sameCause(cause{position: at, receivedAt: ev.At})}, job)
	return err
}

// indexPins indexes the pins that a branch or tag of the mirror leads to, removes the
// others from the index, and returns the outcome of each. It fetches nothing.
func (x *Indexer) indexPins(ctx context.Context, m *mirror.Mirror, r code.Repository, head code.Ref, v indexRequest, job *job) (map[code.Ref]refOutcome, error) {
	pins, err := x.resolvePins(ctx, m, r)
	if err != nil {
		return nil, err
	}
	outcomes := map[code.Ref]refOutcome{}
	announced, err := x.indexRefs(ctx, m, newRevisions(pins, r.ID, head, v), v.cause, job)
	if err != nil {
		return nil, err
	}
	for _, pin := range pins {
		outcomes[pin.Ref] = refOutcome{pin.Commit, announced[pin.Ref]}
	}
	indexed, err := m.IndexedRevisions(ctx)
	if err != nil {
		return nil, err
	}
	var dropped []code.Ref
	for _, rev := range indexed {
		if _, kept := outcomes[rev.Ref]; rev.Ref.IsPin() && !kept {
			dropped = append(dropped, rev.Ref)
		}
	}
	removed, err := x.removeRefs(ctx, m, r.ID, head, dropped, v.cause)
	for _, ref := range dropped {
		outcomes[ref] = refOutcome{"", removed[ref]}
	}
	return outcomes, err
}

// resolvePins returns the pins of a repository that a branch or tag of the mirror leads
// to. It counts and logs the others.
func (x *Indexer) resolvePins(ctx context.Context, m *mirror.Mirror, r code.Repository) ([]code.Revision, error) {
	commits, err := m.Pins()
	if err != nil {
		x.o.Logger.Warn("cannot read the pins of a repository; they are read from the log when all its refs are checked", "repository", r.Name, "repository_id", r.ID, "error", err)
		return nil, m.SetIndexedComplete(false)
	}
	pins, err := m.ResolvePins(ctx, commits)
	if err != nil {
		return nil, err
	}
	if missing := len(commits) - len(pins); missing > 0 {
		x.metrics.lostPins.Add(float64(missing))
		x.o.Logger.Warn("commits that submodules refer to are not indexed, because no selected branch or tag leads to them", "repository", r.Name, "repository_id", r.ID,
			"commits", missing, "first", firstUnresolved(commits, pins))
	}
	return pins, nil
}

func firstUnresolved(commits []code.CommitID, pins []code.Revision) code.CommitID {
	for _, commit := range commits {
		if !slices.Contains(pins, code.Revision{Ref: code.PinRef(commit), Commit: commit}) {
			return commit
		}
	}
	return ""
}
