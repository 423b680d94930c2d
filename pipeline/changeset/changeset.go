package changeset

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// MaxChanges bounds a changeset, which is held in memory: about 200 bytes for
// each change. The largest public repositories have under a million files.
const MaxChanges = 4_000_000

// Kind says what happened to a path.
type Kind string

// What can happen to a path.
const (
	Added    Kind = "added"
	Modified Kind = "modified" // other content
	Deleted  Kind = "deleted"
	// ModeOnly: the content is the same and stays a file; it became executable,
	// or ceased to be.
	ModeOnly Kind = "mode"
	// Retyped: a file became a link, a link a submodule, …; the content may have
	// changed or not.
	Retyped Kind = "retyped"
)

// Change is one path that differs between two commits. The zero Entry means
// that there is no such file. Old.Size is not known.
type Change struct {
	Path     string
	Old, New mirror.Entry
	// InvalidPath says that Path is not git's path but a name made of it
	// (code.NamePath): no checkout can have this file.
	InvalidPath bool
}

// Kind returns what happened.
func (c *Change) Kind() Kind {
	switch {
	case c.Old.ID.IsZero():
		return Added
	case c.New.ID.IsZero():
		return Deleted
	case c.Old.Mode.Type() != c.New.Mode.Type():
		return Retyped
	case c.Old.ID == c.New.ID:
		return ModeOnly
	}
	return Modified
}

// Compare returns the changes from before to after. An empty before means an empty
// repository. It fails with mirror.ErrMissing if the mirror lacks one of the
// commits or their trees, and with mirror.ErrTooLarge above most changes, which is
// at most MaxChanges.
func Compare(ctx context.Context, t *mirror.Trees, before, after code.CommitID, most int) ([]Change, error) {
	most = min(most, MaxChanges)
	if before == "" {
		return listFiles(ctx, t.Mirror(), after, most)
	}
	if before == after {
		return nil, nil
	}
	var changes []Change
	err := t.Diff(ctx, before, after, func(path string, old, new mirror.Entry) error {
		changes = append(changes, Change{Path: path, Old: old, New: new})
		return checkCount(changes, most)
	})
	if err != nil {
		return nil, err
	}
	changes = namePaths(changes)
	return changes, addSizes(ctx, t, changes)
}

// listFiles returns every file of a commit as added.
func listFiles(ctx context.Context, m *mirror.Mirror, commit code.CommitID, most int) ([]Change, error) {
	var changes []Change
	err := m.ListTree(ctx, commit, func(path string, e mirror.Entry) error {
		changes = append(changes, Change{Path: path, New: e})
		return checkCount(changes, most)
	})
	if err != nil {
		return nil, err
	}
	return namePaths(changes), nil
}

func checkCount(changes []Change, most int) error {
	if len(changes) > most {
		return fmt.Errorf("more than %d changed files: %w", most, mirror.ErrTooLarge)
	}
	return nil
}

// addSizes fills New.Size of files and links: a difference has no sizes, and
// the blobs are not read before we know that they are small enough.
func addSizes(ctx context.Context, t *mirror.Trees, changes []Change) error {
	var ids []mirror.ObjectID
	var at []int
	for i, c := range changes {
		if !c.New.ID.IsZero() && !c.New.Mode.IsSubmodule() {
			ids, at = append(ids, c.New.ID), append(at, i)
		}
	}
	return t.Sizes(ctx, ids, func(i int, size int64) { changes[at[i]].New.Size = size })
}
