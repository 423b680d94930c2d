package mirror

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Limits of List. It is called for many repositories in turn, so it must not block on one
// of them, nor use much memory for it.
const (
	// listTimeout bounds one listing, which transfers names but no objects.
	listTimeout = time.Minute
	// maxListOutput bounds the output of the host: maxRefs branches of 64 bytes.
	maxListOutput = 16 << 20
)

// List returns the default branch of the repository and the branches and tags that
// r.Branches and r.Tags select, from git ls-remote or from the repository on disk. It
// fetches nothing, changes nothing, needs no mirror and waits for no fetch. It uses the
// same policy and credentials as Fetch, and takes at most listTimeout. If more than
// Options.MaxRefs refs are selected, a ref that moved since the last fetch counts as one
// of the newest. Without globs, the Selection does not count all branches.
func (m *Mirror) List(ctx context.Context, r code.Repository) (State, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listTimeout, fmt.Errorf("%w: more than %s", ErrTimeout, listTimeout))
	defer cancel()
	s, err := m.listRepository(ctx, r)
	if err != nil {
		return State{}, m.wrapError("list what is behind the", err)
	}
	return s, nil
}

func (m *Mirror) listRepository(ctx context.Context, r code.Repository) (State, error) {
	src, err := m.resolveSource(ctx, r)
	if err != nil {
		return State{}, err
	}
	listed, err := m.listRefs(ctx, r, src)
	if err != nil {
		return State{}, err
	}
	s, err := listed.selectState(r)
	if err != nil || !m.hasRepository() {
		return s.keepFirst(m.ms.o.MaxRefs), err
	}
	if s, err = m.peelKnown(ctx, s); err != nil {
		return State{}, err
	}
	return m.limitRefs(ctx, s)
}

func (m *Mirror) listRefs(ctx context.Context, r code.Repository, src source) (listing, error) {
	if src.isLocal() {
		read, err := m.listDisk(ctx, r, src, listTimeout)
		return read.listing, err
	}
	if len(r.Branches) > 0 || len(r.Tags) > 0 {
		return m.listRemote(ctx, src, maxListOutput, listedPatterns(r)...)
	}
	l, err := m.listRemote(ctx, src, maxListOutput, defaultCandidates(r)...)
	if err == nil && l.head == "" && l.headCommit != "" {
		// HEAD is detached, or the host does not report it: any branch may be the
		// default.
		return m.listRemote(ctx, src, maxListOutput, listedPatterns(r)...)
	}
	if l.headCommit != "" && l.head.IsBranch() {
		l.addRef(l.head, l.headCommit)
	}
	return l, err
}

// defaultCandidates returns the branches, in addition to HEAD, that may be the default
// branch of a repository without globs: a host then lists three branches, not all.
func defaultCandidates(r code.Repository) []string {
	refs := []string{"refs/heads/main", "refs/heads/master"}
	if ref := code.BranchRef(r.DefaultBranch); r.DefaultBranch != "" && ref.Validate() == nil {
		refs = append(refs, string(ref))
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

// List calls Mirror.List on the repository's mirror.
func (ms *Mirrors) List(ctx context.Context, r code.Repository) (State, error) {
	return ms.Mirror(r.ID).List(ctx, r)
}
