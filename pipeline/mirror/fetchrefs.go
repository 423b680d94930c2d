package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// maxFetchRefs bounds the refs in one git fetch; more take several fetches.
const maxFetchRefs = 256

// FetchRefs fetches branches and tags, together where possible, and returns the commit of
// each. A ref that does not exist in the repository is missing from the result and
// removed from the mirror; a tag of something other than a commit is missing too. The
// mirror must exist: otherwise FetchRefs fails with code.ErrNotFound, and the caller must
// use Fetch.
func (m *Mirror) FetchRefs(ctx context.Context, r code.Repository, refs ...code.Ref) (map[code.Ref]code.CommitID, error) {
	start := time.Now()
	ctx, span := tracing.Start(ctx, "fetch")
	commits, err := m.fetchRefs(ctx, r, refs)
	span.End(err)
	m.ms.metrics.observeFetch(fetchRef, start, err)
	if err != nil {
		return nil, m.wrapError(fmt.Sprintf("fetch %d refs into", len(refs)), err)
	}
	return commits, nil
}

func (m *Mirror) fetchRefs(ctx context.Context, r code.Repository, refs []code.Ref) (map[code.Ref]code.CommitID, error) {
	for _, ref := range refs {
		if err := ref.Validate(); err != nil {
			return nil, err
		}
	}
	src, err := m.resolveSource(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := m.lockMirror(ctx); err != nil {
		return nil, err
	}
	defer m.unlockMirror()
	if !m.hasRepository() {
		return nil, fmt.Errorf("no mirror yet: %w", code.ErrNotFound)
	}
	commits := make(map[code.Ref]code.CommitID, len(refs))
	for chunk := range slices.Chunk(refs, maxFetchRefs) {
		if src.isLocal() {
			err = m.copyPushed(ctx, src, chunk, commits)
		} else {
			err = m.transferRefs(ctx, src, chunk, commits)
		}
		if err != nil {
			return nil, err
		}
	}
	return commits, nil
}

// transferRefs fetches refs and adds their commits to commits. If one of several refs no
// longer exists, the whole fetch fails; transferRefs then lists the refs of the host to
// find it.
func (m *Mirror) transferRefs(ctx context.Context, src source, refs []code.Ref, commits map[code.Ref]code.CommitID) error {
	err := m.runFetch(ctx, src, refs)
	if errors.Is(err, ErrRefNotFound) {
		if refs, err = m.dropAbsent(ctx, src, refs); err != nil || len(refs) == 0 {
			return err
		}
		err = m.runFetch(ctx, src, refs)
	}
	if err != nil {
		return err
	}
	for _, ref := range refs {
		commit, err := m.FetchedCommit(ctx, ref)
		if errors.Is(err, ErrMissing) && ref.IsTag() {
			continue // a tag of something other than a commit
		}
		if err != nil {
			return err
		}
		commits[ref] = commit
	}
	return nil
}

// dropAbsent removes from the mirror the refs that the repository no longer has, and
// returns the rest.
func (m *Mirror) dropAbsent(ctx context.Context, src source, refs []code.Ref) ([]code.Ref, error) {
	there := map[code.Ref]code.CommitID{}
	if len(refs) > 1 {
		patterns := make([]string, len(refs))
		for i, ref := range refs {
			patterns[i] = string(ref)
		}
		listed, err := m.listRemote(ctx, src, maxRefsOutput, patterns...)
		if err != nil {
			return nil, err
		}
		there = listed.refs
	}
	var left []code.Ref
	var gone refUpdate
	for _, ref := range refs {
		if _, ok := there[ref]; ok {
			left = append(left, ref)
		} else if err := gone.setRef(string(ref), ""); err != nil {
			return nil, err
		}
	}
	return left, m.updateRefs(ctx, gone)
}
