package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Branch is a branch of a repository.
type Branch struct {
	Ref    code.Ref
	Commit code.CommitID
	// Time is the committer's time.
	Time time.Time
	// Indexed is set if the branch can be searched; Commit is then the indexed commit.
	// Default is set if it is searched by default.
	Indexed, Default bool
}

// RefAt returns the ref of a branch at a commit, or empty if there is none. It prefers
// branches and tags to pins.
func RefAt(branches []Branch, commit code.CommitID) (pin code.Ref) {
	for _, b := range branches {
		switch {
		case b.Commit != commit:
		case b.Ref.IsPin():
			pin = b.Ref
		default:
			return b.Ref
		}
	}
	return pin
}

// Branches returns the branches of a repository: the default branch, then the other
// indexed branches, then, if a mirror is available, the remaining ones. Within each
// group, the branch with the newest commit comes first.
func (b *Browser) Branches(ctx context.Context, r *code.Repository) ([]Branch, error) {
	s, err := b.o.Index.Snapshot(ctx, r.ID)
	if err != nil {
		return nil, fmt.Errorf("branches of %s: %w", r.Name, err)
	}
	head := s.Default(r.ID)
	branches := slices.DeleteFunc(s.Branches(r.ID), func(b Branch) bool { return !b.Ref.IsBranch() })
	s.Release()
	var others []Branch
	err = b.callGit(ctx, b.reads, operationBranches, func(ctx context.Context) (err error) {
		others, err = b.o.Git.Branches(ctx, r.ID)
		return err
	})
	if err != nil && !errors.Is(err, ErrUnavailable) {
		return nil, fmt.Errorf("branches of %s: %w", r.Name, err)
	}
	if head == "" && r.DefaultBranch != "" {
		head = code.BranchRef(r.DefaultBranch)
	}
	return mergeBranches(branches, others, head), nil
}

// Tags returns the indexed tags of a repository, the one with the newest commit first.
// Commit is the commit that the tag points to.
func (b *Browser) Tags(ctx context.Context, r *code.Repository) ([]Branch, error) {
	s, err := b.o.Index.Snapshot(ctx, r.ID)
	if err != nil {
		return nil, fmt.Errorf("tags of %s: %w", r.Name, err)
	}
	tags := slices.DeleteFunc(s.Branches(r.ID), func(b Branch) bool { return !b.Ref.IsTag() })
	s.Release()
	return mergeBranches(tags, nil, ""), nil
}

// mergeBranches adds other branches to the indexed ones. If a name is in both lists, the
// indexed branch wins.
func mergeBranches(indexed, others []Branch, head code.Ref) []Branch {
	known := make(map[code.Ref]bool, len(indexed))
	for _, b := range indexed {
		known[b.Ref] = true
	}
	all := slices.Clone(indexed)
	for i := range all {
		all[i].Indexed = true
	}
	for _, b := range others {
		if !known[b.Ref] {
			all = append(all, b)
		}
	}
	for i := range all {
		all[i].Default = all[i].Ref == head
	}
	slices.SortFunc(all, func(a, b Branch) int {
		return cmp.Or(a.sortGroup()-b.sortGroup(), b.Time.Compare(a.Time), strings.Compare(string(a.Ref), string(b.Ref)))
	})
	return all
}

// sortGroup returns the group of a branch in the order of Branches.
func (b *Branch) sortGroup() int {
	switch {
	case b.Default:
		return 0
	case b.Indexed:
		return 1
	}
	return 2
}
