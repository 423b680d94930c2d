package indexer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// reindexAll fetches and indexes all refs of the repository.
func (x *Indexer) reindexAll(ctx context.Context, m *mirror.Mirror, r code.Repository, g *pushGroup, job *job) error {
	l, err := x.indexRepository(ctx, m, r, indexRequest{cause: g.causeOf, refreshes: g.refreshRequested}, job)
	if err != nil {
		return err
	}
	var forgotten []code.Ref // those that the mirror may have lost
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

// handleRegistration stores the registration of a repository and indexes all of it. If
// a person has given another clone URL, pushes use the former one until the new one has
// been fetched once, because it may be wrong. One that a host lists is right.
func (x *Indexer) handleRegistration(ctx context.Context, r code.Repository, v indexRequest, job *job) error {
	m := x.o.Mirrors.Mirror(r.ID)
	stored := r
	if former, err := m.Repository(); err == nil && r.Connection == "" && former.Connection == "" {
		stored.CloneURL = former.CloneURL
	}
	if err := m.Save(stored); err != nil {
		return err
	}
	if err := m.ForgetFamily(); err != nil { // its history may have been replaced
		return err
	}
	_, err := x.indexRepository(ctx, m, r, v, job)
	return err
}

// indexRequest requests that all refs of a repository are indexed.
type indexRequest struct {
	// cause returns the cause of the announcement of a ref.
	cause func(code.Ref) cause
	// refreshes reports whether a ref must be announced without its last commit as the
	// base; nil means none.
	refreshes func(code.Ref) bool
	// first means that nothing of the repository has been announced.
	first bool
}

// repositoryOutcome is the default branch of a repository and the outcome of each ref.
type repositoryOutcome struct {
	head code.Ref
	refs map[code.Ref]refOutcome
	// leavesOut reports whether a ref is selected but exceeds the limit of refs.
	leavesOut func(code.Ref) bool
}

// refOutcome is the commit of a ref, empty if the ref was deleted, and whether it
// was announced.
type refOutcome struct {
	commit    code.CommitID
	announced bool
}

// indexRepository fetches a repository and indexes its selected refs together, and then
// its pins. If the mirror may lack announced refs, it first announces the deletion of
// refs that no longer exist. It marks the mirror complete once it has every ref of the
// repository.
func (x *Indexer) indexRepository(ctx context.Context, m *mirror.Mirror, r code.Repository, v indexRequest, job *job) (repositoryOutcome, error) {
	started := x.o.Now()
	state, err := fetchMoved(x, r, func(r code.Repository) (mirror.State, error) { return m.Fetch(ctx, r) })
	l := repositoryOutcome{state.Default, map[code.Ref]refOutcome{}, state.LeavesOut}
	if err != nil {
		return l, err
	}
	if stored, err := m.Repository(); err == nil && stored.CloneURL != r.CloneURL {
		if err := m.Save(r); err != nil {
			return l, err
		}
	}
	x.logFetched(r, v.cause(""), "refs", len(state.Revisions), "duration", x.o.Now().Sub(started))
	if err := x.noteSelection(m, r, &state.Selection); err != nil {
		return l, err
	}
	complete, last, err := x.readLost(ctx, m, r.ID, v)
	if err != nil {
		return l, err
	}
	if !complete {
		if complete, err = x.announceDeletions(ctx, m, r.ID, last, state, v, l); err != nil {
			return l, err
		}
	}
	announced, err := x.indexRefs(ctx, m, newRevisions(state.Revisions, r.ID, state.Default, v), v.cause, job)
	if err != nil {
		return l, err
	}
	for _, rev := range state.Revisions {
		l.refs[rev.Ref] = refOutcome{rev.Commit, announced[rev.Ref]}
	}
	indexed, err := m.IndexedRevisions(ctx)
	if err != nil {
		return l, err
	}
	var deleted []code.Ref
	for _, rev := range indexed {
		if _, there := l.refs[rev.Ref]; !there && !rev.Ref.IsPin() {
			deleted = append(deleted, rev.Ref)
		}
	}
	removed, err := x.removeRefs(ctx, m, r.ID, state.Default, deleted, v.cause)
	if err != nil {
		return l, err
	}
	for _, ref := range deleted {
		l.refs[ref] = refOutcome{"", removed[ref]}
	}
	known := mapCommits(indexed)
	maps.Copy(known, last)
	pins, err := x.indexPins(ctx, m, r, state.Default, v, known, job)
	if err != nil {
		return l, err
	}
	maps.Copy(l.refs, pins)
	if complete && !m.IndexedComplete() && containsRefs(indexed, state.Revisions) {
		if err := m.SetIndexedComplete(true); err != nil {
			return l, err
		}
	}
	return l, x.announceSubmodules(ctx, m, r, state.Default, v.cause(state.Default))
}

// fetchMoved calls fetch. If the host says that the repository has moved to another clone
// URL, it calls fetch again with that one, so that no push waits for the new registration.
func fetchMoved[T any](x *Indexer, r code.Repository, fetch func(code.Repository) (T, error)) (T, error) {
	out, err := fetch(r)
	moved, ok := errors.AsType[*mirror.MovedError](err)
	if !ok {
		return out, err
	}
	r.CloneURL = moved.CloneURL
	if out, err = fetch(r); err == nil {
		x.o.Moved(r.ID)
	}
	return out, err
}

// readLost reports whether the mirror has every announced ref of the repository, and its
// pins. If not, it returns the announced commits from the log, and stores the pins and
// submodules that the log has.
func (x *Indexer) readLost(ctx context.Context, m *mirror.Mirror, repo code.RepositoryID, v indexRequest) (complete bool, announced map[code.Ref]code.CommitID, err error) {
	before, err := m.IndexedRevisions(ctx)
	if err != nil {
		return false, nil, err
	}
	_, damaged := m.Pins()
	if damaged == nil && (v.first && len(before) == 0 || m.IndexedComplete() && len(before) > 0) {
		return true, nil, nil
	}
	last, err := x.readAnnounced(ctx, 0, v.cause("").position, repo)
	if err == nil {
		err = m.SavePins(last.pins[repo])
	}
	if err == nil {
		err = m.SaveSubmodules(last.submodules[repo])
	}
	return false, last.lastCommits(), err
}

// newRevisions returns the revisions of a repository to index.
func newRevisions(list []code.Revision, repo code.RepositoryID, head code.Ref, v indexRequest) []revision {
	revs := make([]revision, len(list))
	for i, rev := range list {
		refresh := v.refreshes != nil && v.refreshes(rev.Ref)
		revs[i] = revision{repo: repo, Revision: rev, head: head, refresh: refresh}
	}
	return revs
}

// containsRefs reports whether all contains every ref of some.
func containsRefs(all, some []code.Revision) bool {
	refs := map[code.Ref]bool{}
	for _, rev := range all {
		refs[rev.Ref] = true
	}
	return !slices.ContainsFunc(some, func(rev code.Revision) bool { return !refs[rev.Ref] })
}

// removeMirror removes the mirror of a repository. A stale mirror does not catch up
// first: the repository may be removed because git hangs on it.
func (x *Indexer) removeMirror(ctx context.Context, ev *event.RepositoryRemoved, at event.Position) error {
	m := x.o.Mirrors.Mirror(ev.Repository)
	r, _ := m.Repository() // a repository that was never fetched has no name here
	if err := x.deleteUnannounced(ctx, m, ev.Repository, at); err != nil {
		return err
	}
	if err := m.Remove(ctx); err != nil {
		return err
	}
	x.leaveFamily(ev.Repository)
	x.o.Logger.Info("repository removed", "repository", r.Name, "repository_id", ev.Repository, "reason", ev.Reason, "position", at.String())
	x.jobs.forgetRepository(ev.Repository)
	return x.catchUpRepository(ctx, ev.Repository, at)
}

// loadRepository returns the registration from the mirror, or from the log if the mirror
// is lost.
func (x *Indexer) loadRepository(ctx context.Context, m *mirror.Mirror, id code.RepositoryID, before event.Position) (code.Repository, error) {
	r, err := m.Repository()
	if !errors.Is(err, code.ErrNotFound) {
		return r, err
	}
	r, err = x.findRegistration(ctx, id, before)
	if err != nil {
		return r, err
	}
	return r, m.Save(r)
}

// ignoreUnregistered returns nil for the error of a repository that is not registered.
func ignoreUnregistered(err error) error {
	if errors.Is(err, code.ErrNotFound) {
		return nil
	}
	return err
}

// findRegistration reads the partition up to a position for the last registration or
// change of a repository.
func (x *Indexer) findRegistration(ctx context.Context, id code.RepositoryID, before event.Position) (r code.Repository, err error) {
	found, removed := false, false
	lost, err := x.scanKept(ctx, 0, before, id, func(ev event.Event) {
		switch ev := ev.(type) {
		case *event.RepositoryRegistered:
			r, found = ev.Repository, true
		case *event.RepositoryChanged:
			r, found = ev.Repository, true
		case *event.RepositoryRemoved:
			found, removed = false, true
		}
	}, event.TypeRepositoryRegistered, event.TypeRepositoryChanged, event.TypeRepositoryRemoved)
	if err == nil && !found && !removed && lost != nil {
		err = fmt.Errorf("the registration of repository %d: %w", id, lost) // it may have been deleted
	}
	if err == nil && !found {
		err = fmt.Errorf("repository %d in the log: %w", id, code.ErrNotFound)
	}
	return r, err
}
