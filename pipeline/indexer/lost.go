package indexer

import (
	"context"
	"maps"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// A mirror forgets what was indexed of a repository when it is lost, and of a ref
// when another worker indexed commits that it never had. For a ref that still
// exists that costs a full manifest. For one that is gone nothing would ever take
// it back: so the log is asked what was told of it last.

// lastAnnounced returns the commits that the log tells of the refs of a repository, up
// to its end, without those that were taken back. It reads the partition from its
// beginning, a million records in about a second; what asks for it is rare.
func (x *Indexer) lastAnnounced(ctx context.Context, repo code.RepositoryID, at event.Position) (map[code.Ref]code.CommitID, error) {
	what, err := x.readAnnounced(ctx, 0, at, repo)
	if err != nil {
		return nil, err
	}
	commits := map[code.Ref]code.CommitID{}
	for k, commit := range what.last {
		if commit != "" {
			commits[k.ref] = commit
		}
	}
	return commits, nil
}

// announceDeletions takes back the refs that were announced and that the repository, as it is
// fetched, does not have any more, and notes them in l. It reports whether that was all
// of them: refs that the log tells of by a later cause are left to that.
func (x *Indexer) announceDeletions(ctx context.Context, m *mirror.Mirror, repo code.RepositoryID, state mirror.State, v indexRequest, l repositoryOutcome) (all bool, err error) {
	commits, err := x.lastAnnounced(ctx, repo, v.cause("").position)
	if err != nil {
		return false, err
	}
	all = true
	for _, rev := range state.Revisions {
		delete(commits, rev.Ref)
	}
	var removals []refRemoval
	for _, ref := range slices.Sorted(maps.Keys(commits)) {
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
