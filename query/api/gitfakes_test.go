package api_test

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

// noIndex is an empty index: everything is read from git.
type noIndex struct{}

func (noIndex) Snapshot(context.Context, code.RepositoryID) (source.Snapshot, error) {
	return nothing{}, nil
}

type nothing struct{ source.Snapshot }

func (nothing) Release()                                         {}
func (nothing) Default(code.RepositoryID) code.Ref               { return "" }
func (nothing) Commit(code.RepositoryID, code.Ref) code.CommitID { return "" }
func (nothing) RefAt(code.RepositoryID, code.CommitID) code.Ref  { return "" }

// failingGit resolves revisions; for other calls, the path selects the error.
type failingGit struct{ source.Git }

func (failingGit) Resolve(context.Context, code.RepositoryID, code.RevisionName, code.Ref) (code.CommitID, error) {
	return kettle.IndexedCommit, nil
}

func (failingGit) failFor(path string) error {
	switch path {
	case "busy":
		return fmt.Errorf("%w: none of 2 ended within 5s", source.ErrBusy)
	case "slow":
		return fmt.Errorf("%w: more than 30s", source.ErrTimeout)
	case "large":
		return fmt.Errorf("9000000 bytes, at most 8388608: %w", source.ErrTooLarge)
	case "lost":
		return source.ErrUnavailable
	}
	return errDisk
}

func (g failingGit) File(_ context.Context, _ code.RepositoryID, _ code.CommitID, path string, _ int64) (source.File, error) {
	return source.File{}, g.failFor(path)
}

func (g failingGit) Blame(_ context.Context, _ code.RepositoryID, _ code.CommitID, path string, _ int64) (*source.Blame, error) {
	return nil, g.failFor(path)
}

func (g failingGit) Diff(_ context.Context, _ code.RepositoryID, _, _ code.CommitID, path string, _ int64) ([]source.FileDiff, error) {
	return nil, g.failFor(path)
}

func newBrowser(git source.Git) *source.Browser {
	b, err := source.New(source.Options{Index: noIndex{}, Git: git})
	if err != nil {
		panic(err)
	}
	return b
}

// noOutline finds nothing: the tests that use it read no file.
type noOutline struct{}

func (noOutline) Tokens(code.Language, []byte, int) ([]code.Token, bool) { return nil, true }

func (noOutline) Describe(code.Language, []byte) ([]code.Definition, error) { return nil, nil }
