package ondisk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/internal/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror/internal/ondisk"
)

func openRepository(t *testing.T, path string) *ondisk.Repository {
	t.Helper()
	repo, err := ondisk.Open(path, os.OpenRoot)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(repo.Close)
	return repo
}

// listFiles returns the object files below a directory, by name.
func listFiles(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, path)
		if kind := filepath.Dir(rel); err == nil && !d.IsDir() && kind != "info" {
			files = append(files, filepath.ToSlash(rel))
		}
		return errors.Join(err, relErr)
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

// TestUpdateFollowsTheRepository commits, packs and borrows, and finds the same files
// in the copy each time.
func TestUpdateFollowsTheRepository(t *testing.T) {
	repo := gittest.New(t)
	objects := filepath.Join(repo.Dir, ".git", "objects")
	o := &ondisk.Objects{Directory: filepath.Join(t.TempDir(), "objects"), MaxBytes: 1 << 20}
	update := func(want bool) {
		t.Helper()
		copied, err := o.Update(t.Context(), openRepository(t, repo.Dir))
		if err != nil || (copied > 0) != want {
			t.Fatalf("copied %d bytes, %v; want some: %t", copied, err, want)
		}
	}
	equal := func() {
		t.Helper()
		want := slices.DeleteFunc(listFiles(t, objects), func(name string) bool { return filepath.Ext(name) == ".rev" })
		if got := listFiles(t, o.Directory); !slices.Equal(got, want) {
			t.Fatalf("files %v, want %v", got, want)
		}
	}
	repo.CommitFiles("a", "1", "b", "2")
	update(true)
	equal()
	update(false)
	repo.CommitFiles("a", "3")
	update(true)
	equal()
	loose := listFiles(t, o.Directory)

	repo.Git("repack", "-q", "-a", "-d")
	repo.Git("prune-packed", "-q")
	o.RemoveAfter = time.Hour
	update(true)
	for _, file := range loose {
		if _, err := os.Stat(filepath.Join(o.Directory, file)); err != nil {
			t.Fatalf("a copy was removed at once: %v", err)
		}
	}
	o.RemoveAfter = 0
	update(false)
	equal()

	// A copy that a crash cut short is copied again by a process that starts.
	pack := filepath.Join(o.Directory, listFiles(t, o.Directory)[1])
	if err := os.Truncate(pack, 10); err != nil {
		t.Fatal(err)
	}
	o = &ondisk.Objects{Directory: o.Directory, MaxBytes: 1 << 20}
	update(true)
	if b, err := os.ReadFile(pack); err != nil || len(b) == 10 {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
}

func TestUpdateIsBounded(t *testing.T) {
	repo := gittest.New(t)
	repo.CommitFiles("a", "1")
	o := &ondisk.Objects{Directory: t.TempDir(), MaxBytes: 100}
	if _, err := o.Update(t.Context(), openRepository(t, repo.Dir)); !errors.Is(err, ondisk.ErrTooLarge) {
		t.Fatalf("%v, want ErrTooLarge", err)
	}
}
