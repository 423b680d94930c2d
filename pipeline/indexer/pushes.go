package indexer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// handlePushes handles a group, and says what happened to the pushes that led to no news.
func (x *Indexer) handlePushes(ctx context.Context, g *pushGroup, job *job) error {
	m := x.o.Mirrors.Mirror(g.repo)
	r, err := x.loadRepository(ctx, m, g.repo, g.pushes[0].at)
	switch {
	case errors.Is(err, code.ErrNotFound):
		x.o.Logger.Warn("pushes name a repository that is not registered; they are ignored", "repository_id", g.repo,
			"position", g.pushes[0].at.String(), "pushes", len(g.pushes))
		for _, of := range g.refs {
			of.outcome = event.PushUnregistered
		}
	case err == nil:
		err = x.indexPushedRefs(ctx, m, r, g, job)
		if err != nil {
			return err
		}
	default:
		return err
	}
	return x.reportOutcomes(ctx, g)
}

// indexPushedRefs makes the index what the repository is, as far as the pushes ask for it.
func (x *Indexer) indexPushedRefs(ctx context.Context, m *mirror.Mirror, r code.Repository, g *pushGroup, job *job) error {
	head := m.AnnouncedDefault()
	if g.byRef[""] != nil || !x.isIndexed(ctx, m, head) {
		return x.reindexAll(ctx, m, r, g, job)
	}
	wanted := x.refsToFetch(ctx, m, r, g, head)
	if len(wanted) == 0 {
		return nil
	}
	if full, err := x.exceedsLimit(ctx, m, wanted); err != nil {
		return err
	} else if full {
		return x.reindexAll(ctx, m, r, g, job) // which refs are the newest?
	}
	refs := make([]code.Ref, len(wanted))
	for i, of := range wanted {
		refs[i] = of.ref
	}
	started := x.o.Now()
	commits, err := m.FetchRefs(ctx, r, refs...)
	if errors.Is(err, code.ErrNotFound) || err == nil && slices.Contains(refs, head) && commits[head] == "" {
		// The mirror is lost, or the default branch is another now.
		return x.reindexAll(ctx, m, r, g, job)
	}
	if err != nil {
		return err
	}
	took := x.o.Now().Sub(started)
	var revs []revision
	for _, of := range wanted {
		x.logFetched(r, g.causeOf(of.ref), "ref", string(of.ref), "commit", string(commits[of.ref]), "duration", took)
		if commits[of.ref] != "" {
			revs = append(revs, revision{repo: r.ID, Revision: code.Revision{Ref: of.ref, Commit: commits[of.ref]}, head: head, refresh: of.wantsRefresh()})
		}
	}
	// A ref that goes, goes last: its documents may be all that a new one has.
	told, err := x.indexRefs(ctx, m, revs, g.causeOf, job)
	if err != nil {
		return err
	}
	var gone []code.Ref
	for _, of := range wanted {
		if commits[of.ref] == "" {
			gone = append(gone, of.ref)
		}
	}
	removed, err := x.removeRefs(ctx, m, r.ID, head, gone, g.causeOf)
	if err != nil {
		return err
	}
	for _, of := range wanted {
		of.setOutcome(refOutcome{commits[of.ref], told[of.ref] || removed[of.ref]})
	}
	return nil
}

// isIndexed reports whether the mirror has the indexed state of a default branch. Without
// it the branch was never announced, or HEAD names another one because it is damaged.
func (x *Indexer) isIndexed(ctx context.Context, m *mirror.Mirror, head code.Ref) bool {
	if head == "" {
		return false
	}
	commit, err := m.IndexedCommit(ctx, head)
	return err == nil && commit != ""
}

// reindexAll looks at every ref of the repository.
func (x *Indexer) reindexAll(ctx context.Context, m *mirror.Mirror, r code.Repository, g *pushGroup, job *job) error {
	l, err := x.indexRepository(ctx, m, r, indexRequest{cause: g.causeOf, refreshes: g.refreshRequested}, job)
	if err != nil {
		return err
	}
	var forgotten []code.Ref // by the mirror, perhaps
	for _, of := range g.refs {
		b, known := l.refs[of.ref]
		switch {
		case of.ref == "":
			of.outcome = event.PushRefreshed
		case !known && (!mirror.IsSelected(r, l.head, of.ref) || l.leavesOut(of.ref)):
			of.outcome = event.PushUnselected
		case !known:
			forgotten = append(forgotten, of.ref)
		default:
			of.setOutcome(b)
		}
	}
	removed, err := x.removeRefs(ctx, m, r.ID, l.head, forgotten, g.causeOf)
	if err != nil {
		return err
	}
	for _, ref := range forgotten {
		g.byRef[ref].setOutcome(refOutcome{"", removed[ref]})
	}
	return nil
}

// refsToFetch returns the refs that have to be fetched, the default branch first: new ones
// are derived from it.
func (x *Indexer) refsToFetch(ctx context.Context, m *mirror.Mirror, r code.Repository, g *pushGroup, head code.Ref) []*pushedRef {
	var wanted []*pushedRef
	for _, of := range g.refs {
		if !mirror.IsSelected(r, head, of.ref) {
			of.outcome = event.PushUnselected
			continue
		}
		if done, err := m.IndexedCommit(ctx, of.ref); err == nil && of.cameTo(done) {
			of.setOutcome(refOutcome{commit: done})
			continue
		}
		if of.ref == head {
			wanted = slices.Insert(wanted, 0, of)
		} else {
			wanted = append(wanted, of)
		}
	}
	return wanted
}

// reportOutcomes appends a PushesHandled for the pushes that no RevisionIndexed of their ref answers.
func (x *Indexer) reportOutcomes(ctx context.Context, g *pushGroup) error {
	partition := g.pushes[0].at.Partition
	ev := g.handledEvent(func(ref code.Ref) event.Offset {
		return x.partitions.lastCause(refKey{g.repo, ref}, partition)
	}, x.o.Now())
	if len(ev.Pushes) > 0 {
		if err := x.appendPushesHandled(ctx, g, ev); err != nil {
			return fmt.Errorf("tell of %d pushes that are done: %w", len(ev.Pushes), err)
		}
	}
	x.countPushes(g)
	x.logHandled(g)
	return nil
}

func (x *Indexer) appendPushesHandled(ctx context.Context, g *pushGroup, ev *event.PushesHandled) error {
	first, last := g.pushes[0].at, g.pushes[len(g.pushes)-1].at
	id := event.DerivedID(last, fmt.Sprintf("handled/%d", first.Offset))
	rec, err := event.Encode(event.Envelope{ID: id, Source: source, Time: ev.At}, ev)
	if err != nil {
		return err
	}
	_, err = x.o.Log.Append(ctx, event.TopicEvents, eventlog.AnyPartition, rec)
	return err
}

// countPushes counts the pushes of a group by what happened to them.
func (x *Indexer) countPushes(g *pushGroup) {
	for _, of := range g.refs {
		n := len(of.pushes)
		if of.announced {
			x.metrics.pushes.WithLabelValues(pushCoalesced).Add(float64(n - 1))
			n = 1
		}
		x.metrics.pushes.WithLabelValues(of.metricLabel()).Add(float64(n))
	}
}

// metricLabel returns the label of a ref's last push in the metrics.
func (of *pushedRef) metricLabel() string {
	switch {
	case of.announced && of.commit != "":
		return pushMoved
	case of.announced || of.outcome == event.PushAbsent:
		return pushDeleted
	case of.outcome == event.PushRefreshed:
		return pushRefresh
	case of.outcome == event.PushUnselected:
		return pushUnselected
	case of.outcome == event.PushUnregistered:
		return pushUnknown
	}
	return pushDone
}
