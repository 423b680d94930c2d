package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/mirror/internal/ondisk"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Until they are collected, a mirror contains commits that no ref reaches: commits
// dropped by a forced push, commits of a deleted branch, and, in a copy, whatever its
// repository still contains. git can still find them by ID.

// Reach describes which refs reach a commit.
type Reach int

// The values of Reach.
const (
	// ReachNone: no ref reaches it.
	ReachNone Reach = iota
	// ReachFetched: a branch or tag as last fetched reaches it, or a ref that exists only
	// in the repository on disk. No indexed ref does, so the next fetch may change that.
	ReachFetched
	// ReachIndexed: a ref at its indexed commit reaches it. This stays true until a ref
	// is indexed at another commit.
	ReachIndexed
)

// Reach returns which refs reach a commit of the mirror. Pins do not count: a commit would
// otherwise make itself reachable. It takes one git process, plus one more and a read from
// disk if a copy finds no ref. If the mirror has a commit graph, the walk through history
// ends early.
func (m *Mirror) Reach(ctx context.Context, commit code.CommitID) (Reach, error) {
	if err := validateCommit(commit); err != nil {
		return ReachNone, m.wrapError("read", err)
	}
	out, err := m.ms.git.readOutput(ctx, command{gitDir: m.gitDir(), limit: maxRefsOutput,
		args: []string{"for-each-ref", "--contains=" + string(commit), "--format=%(refname)", indexedPrefix + branchPrefix, indexedPrefix + tagPrefix, branchPrefix, tagPrefix}})
	switch {
	case err != nil:
		return ReachNone, m.wrapError("look for the refs that lead to a commit of", err)
	case bytes.Contains(out, []byte(indexedPrefix)):
		return ReachIndexed, nil
	case len(out) > 0:
		return ReachFetched, nil
	}
	return m.reachOnDisk(ctx, commit)
}

// ReachFrom is Reach for a reader of an index with these refs, whose answer does not depend on how
// old the mirror is: an indexed ref is at its commit in the index, and a ref as last fetched counts
// only if its indexed commit in the mirror is the same. It differs in a mirror whose partition was
// at another process, which has fetched a forced push since. If no ref leads to the commit,
// ReachFrom fails with ErrMissing if the mirror lacks a commit of the index.
func (m *Mirror) ReachFrom(ctx context.Context, commit code.CommitID, index []code.Revision) (Reach, error) {
	if err := validateCommit(commit); err != nil {
		return ReachNone, m.wrapError("read", err)
	}
	indexed := map[code.Ref]code.CommitID{}
	var tips []code.CommitID
	for _, r := range index {
		if err := validateCommit(r.Commit); err != nil {
			return ReachNone, m.wrapError("read", err)
		}
		if !r.Ref.IsPin() {
			indexed[r.Ref], tips = r.Commit, append(tips, r.Commit)
		}
	}
	reached, missing := m.isReached(ctx, commit, tips, false)
	if errors.Is(missing, ErrMissing) {
		if _, err := m.Commit(ctx, commit); err != nil {
			return ReachNone, err
		}
		var err error
		if reached, err = m.isReached(ctx, commit, tips, true); err != nil {
			return ReachNone, err
		}
	} else if missing != nil {
		return ReachNone, missing
	}
	if reached {
		return ReachIndexed, nil
	}
	recorded, err := m.IndexedRevisions(ctx)
	if err != nil {
		return ReachNone, err
	}
	old := map[code.Ref]bool{}
	for _, r := range recorded {
		old[r.Ref] = indexed[r.Ref] != r.Commit
		delete(indexed, r.Ref)
	}
	for ref := range indexed { // the mirror has no record of it
		old[ref] = true
	}
	out, err := m.ms.git.readOutput(ctx, command{gitDir: m.gitDir(), limit: maxRefsOutput,
		args: []string{"for-each-ref", "--contains=" + string(commit), "--format=%(refname)", branchPrefix, tagPrefix}})
	if err != nil {
		return ReachNone, m.wrapError("look for the refs that lead to a commit of", err)
	}
	for ref := range bytes.Lines(out) {
		if !old[code.Ref(bytes.TrimSuffix(ref, []byte("\n")))] {
			return ReachFetched, nil
		}
	}
	if reach, err := m.reachOnDisk(ctx, commit); err != nil || reach != ReachNone {
		return reach, err
	}
	return ReachNone, missing
}

// isReached reports whether a commit is one of the tips, or one of their ancestors. It fails with
// ErrMissing if the mirror lacks one of them, unless that is ignored.
func (m *Mirror) isReached(ctx context.Context, commit code.CommitID, tips []code.CommitID, ignoreMissing bool) (bool, error) {
	// List the commit without the commits that the tips reach; the output is empty if
	// they reach it.
	var in strings.Builder
	fmt.Fprintln(&in, commit)
	for _, id := range tips {
		fmt.Fprintf(&in, "^%s\n", id)
	}
	args := []string{"rev-list", "--max-count=1"}
	if ignoreMissing {
		args = append(args, "--ignore-missing")
	}
	left, err := m.ms.git.readOutput(ctx, command{gitDir: m.gitDir(), stdin: []byte(in.String()), args: append(args, "--stdin")})
	if err != nil {
		return false, m.wrapError("look for the refs that lead to a commit of", err)
	}
	return len(left) == 0, nil
}

// reachOnDisk checks the refs that exist only in the repository on disk, because a client
// may name them.
func (m *Mirror) reachOnDisk(ctx context.Context, commit code.CommitID) (Reach, error) {
	tips, err := m.findOnDisk(ctx, func(ctx context.Context, repo *ondisk.Repository) (ondisk.Refs, error) {
		all := ondisk.Refs{}
		for _, prefix := range clientPrefixes {
			refs, err := repo.List(ctx, prefix)
			if err != nil {
				return nil, err
			}
			for ref, id := range refs {
				all[ref] = id
			}
		}
		return all, nil
	})
	if err != nil || len(tips) == 0 {
		return ReachNone, nil // moved or deleted, or not a copy
	}
	reached, err := m.isReached(ctx, commit, slices.Collect(maps.Values(tips)), true)
	switch {
	case errors.Is(err, ErrMissing):
		return ReachNone, nil
	case reached:
		return ReachFetched, nil
	}
	return ReachNone, err
}
