package changeset

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// MaxChanges bounds a changeset, which is held in memory at about 200 bytes per change.
// The largest public repositories have fewer than a million files.
const MaxChanges = 4_000_000

// Change is one path that differs between two commits. The zero Entry means that the file
// does not exist. Old.Size is not set.
type Change struct {
	Path     string
	Old, New mirror.Entry
	// InvalidPath means that Path is not git's path but a generated name (code.NamePath):
	// no checkout can contain this file.
	InvalidPath bool
}

// Compare returns the changes from before to after. An empty before stands for an empty
// repository. It returns mirror.ErrMissing if the mirror lacks one of the commits or its
// trees, and mirror.ErrTooLarge if there are more than most changes, which is at most
// MaxChanges.
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

// listFiles returns every file of a commit as an addition.
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

// addSizes sets New.Size of files and links: a diff contains no sizes, and blobs are not
// read before they are known to be small enough.
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
