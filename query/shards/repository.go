package shards

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/rpc"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/indexing"
)

// repositoryTime bounds a call about a repository.
const repositoryTime = 15 * time.Second

// callRepository opens a session about a repository at an owner of its partition, and makes the
// first call. If an owner is lost, the next one gets the call: there are several while partitions
// move.
func (f *Front) callRepository(
	ctx context.Context, id code.RepositoryID, c *rpc.RepositoryCall,
) (*remoteRepository, *rpc.RepositoryReply, error) {
	who, err := f.encodeCaller(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	err = fmt.Errorf("%w: partition %d has no owner: %w", search.ErrUnavailable, f.o.PartitionOf(id), search.ErrShardLost)
	for left := f.listOwners(id); len(left) > 0 && errors.Is(err, search.ErrShardLost) && ctx.Err() == nil; {
		owner := pickLayout(left, nil)[0]
		left = slices.DeleteFunc(left, func(l layout) bool { return l[0] == owner })
		var to *route
		if to, err = f.newRoute(ctx, owner, nil); err != nil {
			err = unavailableIfLost(err)
			continue
		}
		r := &remoteRepository{route: to, who: who, session: to.at.OpenRepository(who)}
		var out *rpc.RepositoryReply
		if out, err = r.callOwner(ctx, c); err == nil {
			return r, out, nil
		}
		r.Release()
	}
	return nil, nil, err
}

// remoteRepository is a session about a repository, and its refs if it is a snapshot.
type remoteRepository struct {
	*route
	who     []byte
	session rpc.RepositorySession
	opened  bool // the session has answered a call
	refs    *rpc.RepositoryReply
}

// callOwner sends a call to the replica, and to another one if it is lost. A snapshot continues
// only where all refs are at the same commits: what it has returned is of this state.
func (r *remoteRepository) callOwner(ctx context.Context, c *rpc.RepositoryCall) (*rpc.RepositoryReply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, repositoryTime, search.ErrShardLost)
	defer cancel()
	out, err := r.callReplica(ctx, c)
	for errors.Is(err, search.ErrShardLost) && ctx.Err() == nil {
		r.session.Close()
		if err = r.chooseNext(ctx); err != nil {
			break
		}
		r.session, r.opened = r.at.OpenRepository(r.who), false
		if r.refs != nil {
			refs, failure := r.callReplica(ctx, &rpc.RepositoryCall{Refs: true})
			if err = failure; err == nil && (refs.Default != r.refs.Default || !slices.EqualFunc(refs.Branches, r.refs.Branches, isSameBranch)) {
				err = fmt.Errorf("%w: another replica of the share %s has other commits", search.ErrShardLost, r.share.name)
			}
			if err != nil {
				continue
			}
		}
		out, err = r.callReplica(ctx, c)
	}
	return out, unavailableIfLost(err)
}

// isSameBranch compares all but the time, which follows from the commit.
func isSameBranch(a, b source.Branch) bool {
	return a.Ref == b.Ref && a.Commit == b.Commit && a.Indexed == b.Indexed && a.Default == b.Default
}

func (r *remoteRepository) callReplica(ctx context.Context, c *rpc.RepositoryCall) (out *rpc.RepositoryReply, err error) {
	const step = "repository"
	if !r.opened {
		kind := "skipped"
		switch {
		case c.Refs:
			kind = "refs"
		case c.Status:
			kind = "status"
		}
		r.session, out, err = openHedged(ctx, r.route, kind, step, r.session,
			func(at *choice) rpc.RepositorySession { return at.OpenRepository(r.who) },
			func(ctx context.Context, session rpc.RepositorySession) (*rpc.RepositoryReply, error) {
				return session.Call(ctx, c)
			})
		r.opened = err == nil
		return out, err
	}
	err = r.measureCall(ctx, r.at, step, func(ctx context.Context) error {
		out, err = r.session.Call(ctx, c)
		return err
	})
	return out, err
}

var _ source.Index = (*Front)(nil)

// Snapshot implements source.Index: the state of a repository at the owner of its partition.
func (f *Front) Snapshot(ctx context.Context, id code.RepositoryID) (source.Snapshot, error) {
	r, refs, err := f.callRepository(ctx, id, &rpc.RepositoryCall{Refs: true})
	if err != nil {
		return nil, err
	}
	r.refs = refs
	return r, nil
}

var _ source.Snapshot = (*remoteRepository)(nil)

// Release implements source.Snapshot.
func (r *remoteRepository) Release() { r.session.Close() }

// Default implements source.Snapshot.
func (r *remoteRepository) Default(code.RepositoryID) code.Ref { return r.refs.Default }

// Commit implements source.Snapshot.
func (r *remoteRepository) Commit(_ code.RepositoryID, ref code.Ref) code.CommitID {
	for _, b := range r.refs.Branches {
		if b.Ref == ref {
			return b.Commit
		}
	}
	return ""
}

// RefAt implements source.Snapshot.
func (r *remoteRepository) RefAt(_ code.RepositoryID, commit code.CommitID) code.Ref {
	return source.RefAt(r.refs.Branches, commit)
}

// Branches implements source.Snapshot.
func (r *remoteRepository) Branches(code.RepositoryID) []source.Branch {
	return append([]source.Branch(nil), r.refs.Branches...)
}

// File implements source.Snapshot.
func (r *remoteRepository) File(ctx context.Context, _ code.RepositoryID, ref code.Ref, path string) (source.File, error) {
	out, err := r.callOwner(ctx, &rpc.RepositoryCall{File: &rpc.RefPath{Ref: ref, Path: path}})
	if err != nil {
		return source.File{}, err
	}
	return *out.File, nil
}

// List implements source.Snapshot.
func (r *remoteRepository) List(ctx context.Context, _ code.RepositoryID, ref code.Ref, path string, limit int) ([]source.Entry, error) {
	out, err := r.callOwner(ctx, &rpc.RepositoryCall{List: &rpc.RefPath{Ref: ref, Path: path, Limit: limit}})
	if err != nil {
		return nil, err
	}
	return out.Entries, nil
}

// Files implements source.Snapshot.
func (r *remoteRepository) Files(ctx context.Context, _ code.RepositoryID, ref code.Ref, limit int) ([]string, error) {
	out, err := r.callOwner(ctx, &rpc.RepositoryCall{Files: &rpc.RefPath{Ref: ref, Limit: limit}})
	if err != nil {
		return nil, err
	}
	return out.Files, nil
}

var _ api.Status = (*Front)(nil)

// Status implements api.Status.
func (f *Front) Status(ctx context.Context, id code.RepositoryID) (indexing.Status, error) {
	r, out, err := f.callRepository(ctx, id, &rpc.RepositoryCall{Status: true})
	if err != nil {
		return indexing.Status{}, err
	}
	r.Release()
	return *out.Status, nil
}

// Skipped implements api.Status.
func (f *Front) Skipped(ctx context.Context, id code.RepositoryID, ref code.Ref, reason string, offset, limit int) ([]indexing.SkippedFile, int, error) {
	files := &rpc.SkippedFiles{Ref: ref, Reason: reason, Offset: offset, Limit: limit}
	r, out, err := f.callRepository(ctx, id, &rpc.RepositoryCall{Skipped: files})
	if err != nil {
		return nil, 0, err
	}
	r.Release()
	return out.Skipped, out.Total, nil
}
