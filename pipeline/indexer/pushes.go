package indexer

import (
	"context"
	"errors"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// handlePushes handles a group of pushes, from the fetch to the answer:
//
//	loadRepository    the registration                       repository.go
//	indexPushedRefs   the refs to fetch                      pushes.go
//	reindexAll        or all refs, if necessary              repository.go
//	indexRefs         bases, changes, segments, events       indexing.go
//	removeRefs        deleted refs                           removedrefs.go
//	reportOutcomes    pushes that led to no event            outcomes.go
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
	case err != nil:
		return err
	default:
		if err := x.indexPushedRefs(ctx, m, r, g, job); err != nil {
			return err
		}
	}
	return x.reportOutcomes(ctx, g)
}

// indexPushedRefs updates the index to the state of the pushed refs.
func (x *Indexer) indexPushedRefs(ctx context.Context, m *mirror.Mirror, r code.Repository, g *pushGroup, job *job) error {
	head := m.AnnouncedDefault()
	if g.byRef[""] != nil || !x.isIndexed(ctx, m, head) || !listsUnclassified(m) {
		return x.reindexAll(ctx, m, r, g, job)
	}
	wanted := x.refsToFetch(ctx, m, r, g, head)
	if len(wanted) == 0 {
		return x.indexSubmodules(ctx, m, r, g, head, job)
	}
	commits, err := x.fetchPushedRefs(ctx, m, r, g, wanted, head)
	if errors.Is(err, errNeedsAllRefs) {
		return x.reindexAll(ctx, m, r, g, job)
	}
	if err != nil {
		return err
	}
	if err := x.indexFetchedRefs(ctx, m, g, wanted, commits, head, job); err != nil {
		return err
	}
	return x.indexSubmodules(ctx, m, r, g, head, job)
}

// indexSubmodules indexes the pins to which the refs lead after the pushes, removes those
// to which none leads any more, and announces the submodules of the default branch.
func (x *Indexer) indexSubmodules(ctx context.Context, m *mirror.Mirror, r code.Repository, g *pushGroup, head code.Ref, job *job) error {
	v := indexRequest{cause: g.causeOf, refreshes: g.refreshRequested}
	pins, err := m.Pins()
	if err != nil {
		x.o.Logger.Warn("cannot read the pins of a repository; reading them from the log", "repository", r.Name, "repository_id", r.ID, "error", err)
		_, err := x.indexRepository(ctx, m, r, v, job)
		return err
	}
	if len(pins) > 0 {
		outcomes, err := x.indexAnnouncedPins(ctx, m, r, head, v, job)
		if err != nil {
			return err
		}
		for ref, of := range g.byRef {
			if outcome, ok := outcomes[ref]; ok {
				of.setOutcome(outcome)
			}
		}
	}
	return x.announceSubmodules(ctx, m, r, head, g.causeOf(head))
}

// isIndexed reports whether the mirror has an indexed commit of the default branch. If
// not, the branch was never announced, or a damaged HEAD names another one.
func (x *Indexer) isIndexed(ctx context.Context, m *mirror.Mirror, head code.Ref) bool {
	if head == "" {
		return false
	}
	commit, err := m.IndexedCommit(ctx, head)
	return err == nil && commit != ""
}

// refsToFetch returns the refs to fetch. The default branch is first, because new refs
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

// errNeedsAllRefs means that it does not suffice to fetch the pushed refs.
var errNeedsAllRefs = errors.New("all refs of the repository have to be fetched")

// fetchPushedRefs fetches refs and returns the commit of each; deleted refs have none. It
// returns errNeedsAllRefs if there are too many refs to determine the newest ones, if the
// mirror is lost, or if the default branch has changed.
func (x *Indexer) fetchPushedRefs(ctx context.Context, m *mirror.Mirror, r code.Repository, g *pushGroup, wanted []*pushedRef, head code.Ref) (map[code.Ref]code.CommitID, error) {
	full, err := x.exceedsLimit(ctx, m, wanted)
	if err != nil {
		return nil, err
	}
	if full {
		return nil, errNeedsAllRefs
	}
	refs := make([]code.Ref, len(wanted))
	for i, of := range wanted {
		refs[i] = of.ref
	}
	started := x.o.Now()
	commits, err := fetchMoved(x, r, func(r code.Repository) (map[code.Ref]code.CommitID, error) { return m.FetchRefs(ctx, r, refs...) })
	if errors.Is(err, code.ErrNotFound) || err == nil && slices.Contains(refs, head) && commits[head] == "" {
		return nil, errNeedsAllRefs
	}
	if err != nil {
		return nil, err
	}
	took := x.o.Now().Sub(started)
	for _, ref := range refs {
		x.logFetched(r, g.causeOf(ref), "ref", string(ref), "commit", string(commits[ref]), "duration", took)
	}
	return commits, nil
}

// indexFetchedRefs indexes refs at their commits and records the outcome of each. Deleted
// refs come last, because new refs may rely on their documents.
func (x *Indexer) indexFetchedRefs(ctx context.Context, m *mirror.Mirror, g *pushGroup, wanted []*pushedRef, commits map[code.Ref]code.CommitID, head code.Ref, job *job) error {
	var revs []revision
	var deleted []code.Ref
	for _, of := range wanted {
		if commits[of.ref] == "" {
			deleted = append(deleted, of.ref)
			continue
		}
		revs = append(revs, revision{repo: g.repo, Revision: code.Revision{Ref: of.ref, Commit: commits[of.ref]}, head: head, refresh: of.wantsRefresh()})
	}
	announced, err := x.indexRefs(ctx, m, revs, g.causeOf, job)
	if err != nil {
		return err
	}
	removed, err := x.removeRefs(ctx, m, g.repo, head, deleted, g.causeOf)
	if err != nil {
		return err
	}
	for _, of := range wanted {
		of.setOutcome(refOutcome{commits[of.ref], announced[of.ref] || removed[of.ref]})
	}
	return nil
}
