package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// maxFetchRefs bounds the refs that one fetch brings; more take several.
const maxFetchRefs = 256

// FetchRefs brings branches and tags, as many as wait with one fetch, and returns the
// commit of each. What the repository does not have (any more) is missing in the
// result and goes from the mirror; a tag of something else than a commit is missing, too. The mirror must exist: without one, it fails
// with code.ErrNotFound and the caller takes Fetch.
func (m *Mirror) FetchRefs(ctx context.Context, r code.Repository, refs ...code.Ref) (map[code.Ref]code.CommitID, error) {
	start := time.Now()
	commits, err := m.fetchRefs(ctx, r, refs)
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

// transferRefs fetches refs and puts their commits into commits. If one of several
// refs is gone, the fetch fails for all; transferRefs then lists the refs of the
// host to find it.
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
			continue // of something else than a commit
		}
		if err != nil {
			return err
		}
		commits[ref] = commit
	}
	return nil
}

// dropAbsent removes the refs that the repository no longer has from the
// mirror, and returns the others.
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
