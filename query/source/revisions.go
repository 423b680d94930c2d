package source

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Revision is a resolved revision name.
type Revision struct {
	Commit code.CommitID
	// Ref is an indexed ref at the commit; empty if searches do not find the revision.
	Ref code.Ref
}

// Resolve resolves a revision name; the empty name is the default branch.
func (b *Browser) Resolve(ctx context.Context, r *code.Repository, name string) (Revision, error) {
	rev, err := b.findRevision(ctx, r, name)
	return Revision{rev.commit, rev.ref}, err
}

// MergeBase returns the best common ancestor of two revisions. The error wraps
// ErrNoRevision if they have none.
func (b *Browser) MergeBase(ctx context.Context, r *code.Repository, base, head string) (code.CommitID, error) {
	from, err := b.findRevision(ctx, r, base)
	if err != nil {
		return "", err
	}
	to, err := b.findRevision(ctx, r, head)
	if err != nil {
		return "", err
	}
	var ancestor code.CommitID
	err = b.callGit(ctx, b.walks, operationMergeBase, func(ctx context.Context) (err error) {
		ancestor, err = b.o.Git.MergeBase(ctx, r.ID, from.commit, to.commit)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("common ancestor in %s: %w", r.Name, err)
	}
	return ancestor, nil
}

// Names of the empty tree, which git knows in every repository.
const (
	emptyTreeSHA1   code.CommitID = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	emptyTreeSHA256 code.CommitID = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
)

// CommitDiff returns what a commit of Commit or Commits changed relative to its first
// parent, below a path if it is not empty; a commit without parents adds everything.
func (b *Browser) CommitDiff(ctx context.Context, r *code.Repository, c Commit, path string) ([]FileDiff, error) {
	path, err := cleanDirectory(path)
	if err != nil {
		return nil, err
	}
	base := emptyTreeSHA1
	switch {
	case len(c.Parents) > 0:
		base = c.Parents[0]
	case len(c.ID) == len(emptyTreeSHA256):
		base = emptyTreeSHA256
	}
	return b.diffCommits(ctx, r, base, c.ID, path)
}

// diffCommits returns the differences between two commits that the client may see.
func (b *Browser) diffCommits(ctx context.Context, r *code.Repository, base, head code.CommitID, path string) (files []FileDiff, err error) {
	err = b.callGit(ctx, b.walks, operationDiff, func(ctx context.Context) (err error) {
		files, err = b.o.Git.Diff(ctx, r.ID, base, head, path, b.o.MaxDiffBytes)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("difference of %s: %w", r.Name, err)
	}
	return files, nil
}

// Content returns the bytes of a file at a revision as stored in git, at most
// MaxFileBytes. The content of a symbolic link is its target.
func (b *Browser) Content(ctx context.Context, r *code.Repository, name, path string) ([]byte, error) {
	if err := code.ValidatePath(path); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidPath, err)
	}
	rev, err := b.findRevision(ctx, r, name)
	if err != nil {
		return nil, err
	}
	var content []byte
	err = b.callGit(ctx, b.reads, operationContent, func(ctx context.Context) (err error) {
		content, err = b.o.Git.Content(ctx, r.ID, rev.commit, path, b.o.MaxFileBytes)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("content of %.200q of %s: %w", path, r.Name, err)
	}
	return content, nil
}

// IndexedRefs returns the branches and tags that searches find: the default branch, other
// branches, then tags. Within each group, the ref with the newest commit comes first. It
// does not need git.
func (b *Browser) IndexedRefs(ctx context.Context, r *code.Repository) ([]Branch, error) {
	s, err := b.o.Index.Snapshot(ctx, r.ID)
	if err != nil {
		return nil, fmt.Errorf("refs of %s: %w", r.Name, err)
	}
	refs, head := slices.DeleteFunc(s.Branches(r.ID), func(b Branch) bool { return b.Ref.IsPin() }), s.Default(r.ID)
	s.Release()
	for i := range refs {
		refs[i].Indexed, refs[i].Default = true, refs[i].Ref == head
	}
	slices.SortFunc(refs, func(a, b Branch) int {
		return cmp.Or(a.sortGroup()-b.sortGroup(), compareBools(a.Ref.IsTag(), b.Ref.IsTag()), b.Time.Compare(a.Time), strings.Compare(string(a.Ref), string(b.Ref)))
	})
	return refs, nil
}

// compareBools puts false first.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
