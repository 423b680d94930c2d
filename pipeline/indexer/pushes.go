package indexer

import (
	"context"
	"errors"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// handlePushes is the life of the pushes of a group, from the fetch to their answer:
//
//	loadRepository    what is registered                     repository.go
//	indexPushedRefs   which refs are fetched                 pushes.go
//	reindexAll        or all of them, where that is needed   repository.go
//	indexRefs         bases, changes, segments, events       indexing.go
//	removeRefs        refs that were deleted                 removedrefs.go
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
	commits, err := x.fetchPushedRefs(ctx, m, r, g, wanted, head)
	if errors.Is(err, errNeedsAllRefs) {
		return x.reindexAll(ctx, m, r, g, job)
	}
	if err != nil {
		return err
	}
	return x.indexFetchedRefs(ctx, m, g, wanted, commits, head, job)
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

// errNeedsAllRefs says that a look at the pushed refs alone does not suffice.
var errNeedsAllRefs = errors.New("all refs of the repository have to be fetched")

// fetchPushedRefs fetches refs, and returns the commit of each; one that was deleted has
// none. It fails with errNeedsAllRefs if there are too many refs to say which are the
// newest, the mirror is lost, or the default branch is another now.
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
	commits, err := m.FetchRefs(ctx, r, refs...)
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

// indexFetchedRefs indexes refs at their commits and notes the outcome of each. Deleted
// refs come last: their documents may be all that a new one has.
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
