package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	// List the commit without the commits that the tips reach; the output is empty if
	// they reach it.
	var in strings.Builder
	fmt.Fprintln(&in, commit)
	for _, id := range tips {
		fmt.Fprintf(&in, "^%s\n", id)
	}
	left, err := m.ms.git.readOutput(ctx, command{gitDir: m.gitDir(), stdin: []byte(in.String()),
		args: []string{"rev-list", "--max-count=1", "--ignore-missing", "--stdin"}})
	switch {
	case errors.Is(err, ErrMissing):
		return ReachNone, nil
	case err != nil:
		return ReachNone, m.wrapError("look for the refs that lead to a commit of", err)
	case len(left) == 0:
		return ReachFetched, nil
	}
	return ReachNone, nil
}
