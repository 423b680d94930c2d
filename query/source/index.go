package source

import (
	"context"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Index provides snapshots of the index.
type Index interface {
	// Snapshot returns a state of the index that does not change until it is released. The
	// caller reads only the given repository.
	Snapshot(ctx context.Context, id code.RepositoryID) (Snapshot, error)
}

// Snapshot is a consistent state of the index.
type Snapshot interface {
	// Default returns the default branch; empty if it is not indexed.
	Default(id code.RepositoryID) code.Ref
	// Commit returns the indexed commit of a ref; empty if there is none.
	Commit(id code.RepositoryID, ref code.Ref) code.CommitID
	// RefAt returns an indexed ref at a commit, or empty if there is none. It prefers
	// branches and tags to pins.
	RefAt(id code.RepositoryID, commit code.CommitID) code.Ref
	// Branches returns the indexed refs in any order; Indexed and Default are not set.
	// The caller owns the slice.
	Branches(id code.RepositoryID) []Branch
	// File returns a file of an indexed ref. The error wraps ErrNoPath if it does not
	// exist, ErrBinary if it is not text, and ErrNotIndexed if the caller must use git.
	File(ctx context.Context, id code.RepositoryID, ref code.Ref, path string) (File, error)
	// List returns a directory of an indexed ref in any order, "" being the root: at most
	// limit entries, or ErrTooLarge. The error wraps ErrNoPath if there is no such
	// directory.
	List(ctx context.Context, id code.RepositoryID, ref code.Ref, path string, limit int) ([]Entry, error)
	// Files returns the paths of all files of an indexed ref in order: at most limit, or
	// ErrTooLarge.
	Files(ctx context.Context, id code.RepositoryID, ref code.Ref, limit int) ([]string, error)
	// Release releases the snapshot.
	Release()
}
