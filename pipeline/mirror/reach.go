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

// A mirror holds commits that no ref names any more until they are collected: those
// that a forced push dropped, those of a branch that was deleted, and, in a copy,
// whatever its repository still holds. Their IDs name them to git anyway.

// Reach says which refs lead to a commit.
type Reach int

// The values of Reach.
const (
	// ReachNone: no ref does.
	ReachNone Reach = iota
	// ReachFetched: a branch or a tag as last fetched does, or a ref that only the repository on
	// disk has. What is fetched next may change that, and it shows in no indexed ref.
	ReachFetched
	// ReachIndexed: a ref at its indexed commit does. It stays true until one is
	// indexed at another commit.
	ReachIndexed
)

// Reach returns which refs lead to a commit of the mirror. It takes one process of
// git, and one more, after a look at the disk, if a copy finds no ref. A walk through
// history ends early where the mirror has a commit graph.
func (m *Mirror) Reach(ctx context.Context, commit code.CommitID) (Reach, error) {
	if err := validateCommit(commit); err != nil {
		return ReachNone, m.wrapError("read", err)
	}
	out, err := m.ms.git.readOutput(ctx, command{gitDir: m.gitDir(), limit: maxRefsOutput,
		args: []string{"for-each-ref", "--contains=" + string(commit), "--format=%(refname)", indexedPrefix, branchPrefix, tagPrefix}})
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

// reachOnDisk looks at the refs that only the repository on disk has: a client may
// name them.
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
		return ReachNone, nil // moved or gone, or no copy
	}
	// What is left of the commit without what the tips lead to: nothing, if they do.
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
