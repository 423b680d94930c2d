package indexer

import (
	"context"
	"maps"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// The indexed state of a repository is lost together with its mirror, and that of a ref
// is unusable if another worker indexed commits that this mirror never had. A ref that
// still exists then costs a full manifest. The deletion of a ref that no longer exists
// would never be announced, so the last announcements are read from the log.

// lastAnnounced returns the last announced commit of each ref of a repository, without
// deleted refs. It reads the partition from its beginning, at about a million records per
// second. It is rarely needed.
func (x *Indexer) lastAnnounced(ctx context.Context, repo code.RepositoryID, at event.Position) (map[code.Ref]code.CommitID, error) {
	what, err := x.readAnnounced(ctx, 0, at, repo)
	if err != nil {
		return nil, err
	}
	return what.lastCommits(), nil
}

// lastCommits returns the last announced commit of each ref, without deleted refs. t holds
// the refs of one repository.
func (t *announcedRefs) lastCommits() map[code.Ref]code.CommitID {
	commits := map[code.Ref]code.CommitID{}
	for k, commit := range t.last {
		if commit != "" {
			commits[k.ref] = commit
		}
	}
	return commits
}

// announceDeletions announces the deletion of refs with these announced commits that the
// fetched repository no longer contains, and records them in l. It reports whether it
// covered all of them: refs that a later cause has announced are left to that cause.
func (x *Indexer) announceDeletions(ctx context.Context, m *mirror.Mirror, repo code.RepositoryID, commits map[code.Ref]code.CommitID, state mirror.State, v indexRequest, l repositoryOutcome) (all bool, err error) {
	all = true
	for _, rev := range state.Revisions {
		delete(commits, rev.Ref)
	}
	var removals []refRemoval
	for _, ref := range slices.Sorted(maps.Keys(commits)) {
		if ref.IsPin() {
			continue // indexPins removes it
		}
		r := refRemoval{ref: ref, was: commits[ref], cause: v.cause(ref)}
		if x.isOvertaken(revision{repo: repo, Revision: code.Revision{Ref: ref}}, r.cause) {
			all = false
			continue
		}
		removals = append(removals, r)
		l.refs[ref] = refOutcome{"", true}
	}
	return all, x.announceRemovals(ctx, m, repo, state.Default, removals)
}
