package mirror_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
)

// TestMirrorsRemovedWhileTheProcessRuns removes the directory of the mirrors between two
// fetches. Without its configuration, git would use defaults that trust the repository;
// an idle reader still has the removed files open.
func TestMirrorsRemovedWhileTheProcessRuns(t *testing.T) {
	repo := gittest.New(t)
	first := repo.CommitFiles("a.txt", "one\n")
	r := repo.Code("r")
	dir := filepath.Join(t.TempDir(), "mirrors")
	ms := open(t, mirror.Options{Dir: dir})
	m := ms.Mirror(r.ID)
	if _, err := m.Fetch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := m.SetIndexed(t.Context(), "refs/heads/main", first, "refs/heads/main"); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := m.SetIndexed(t.Context(), "refs/heads/main", "", ""); !errors.Is(err, mirror.ErrMissing) {
		t.Errorf("SetIndexed without a mirror: %v, want ErrMissing", err)
	}
	if indexed, err := m.IndexedRevisions(t.Context()); err != nil || len(indexed) != 0 {
		t.Errorf("Indexed without a mirror: %v, %v", indexed, err)
	}
	second := repo.CommitFiles("a.txt", "two\n")
	if _, err := m.Fetch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	wantBlob(t, m, second, "a.txt", "two\n")
	wantDiff(t, m, first, second, "M a.txt")
	if _, err := os.Stat(filepath.Join(dir, "git.config")); err != nil {
		t.Errorf("git runs without its configuration: %v", err)
	}
}

// TestReaderThatCannotBeRestarted kills a git process and makes its replacement fail to
// start, because the mirrors were removed: the reader fails, and is still returned to the
// pool.
func TestReaderThatCannotBeRestarted(t *testing.T) {
	repo := gittest.New(t)
	commit := repo.CommitFiles("a.txt", "one\n")
	r := repo.Code("r")
	dir := filepath.Join(t.TempDir(), "mirrors")
	ms := open(t, mirror.Options{Dir: dir})
	m := ms.Mirror(r.ID)
	if _, err := m.Fetch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	trees, err := m.Trees(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	// git may answer before it is killed. In both cases the reader does not use it again.
	if _, err := trees.Commit(ended, commit); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatalf("Commit after the end of the context: %v, want the commit or %v", err, context.Canceled)
	}
	if err := errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := trees.Commit(t.Context(), commit); err == nil {
			t.Error("a commit was read without a mirror")
		}
	}
	trees.Close()
}
