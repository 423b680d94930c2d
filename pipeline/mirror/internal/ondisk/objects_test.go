package ondisk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror/internal/ondisk"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
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

// listFiles returns the names of the object files below a directory.
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

// TestUpdateFollowsTheRepository commits, packs and borrows objects, and expects the same
// files in the copy each time.
func TestUpdateFollowsTheRepository(t *testing.T) {
	repo := gittest.New(t)
	objects := filepath.Join(repo.Dir, ".git", "objects")
	o := &ondisk.Objects{Directory: t.TempDir(), MaxBytes: 1 << 20}
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

	// A new process repeats a copy that a crash truncated.
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

// TestCopyIsBoundedOverUpdates renames a pack before each update: copies that are waiting
// to be removed count too.
func TestCopyIsBoundedOverUpdates(t *testing.T) {
	repo := gittest.New(t)
	repo.CommitFiles("a", "1")
	packs := filepath.Join(repo.Dir, ".git", "objects", "pack")
	const limit = 3 << 20
	o := &ondisk.Objects{Directory: t.TempDir(), MaxBytes: limit, RemoveAfter: time.Hour}
	var failed error
	for n := range 8 {
		for _, suffix := range []string{".pack", ".idx"} {
			if n > 0 {
				if err := os.Remove(filepath.Join(packs, fmt.Sprintf("pack-%040x", n-1)+suffix)); err != nil {
					t.Fatal(err)
				}
			}
			path := filepath.Join(packs, fmt.Sprintf("pack-%040x", n)+suffix)
			if err := errors.Join(os.MkdirAll(packs, 0o755), os.WriteFile(path, make([]byte, limit/8), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		_, failed = o.Update(t.Context(), openRepository(t, repo.Dir))
	}
	var size int64
	for _, file := range listFiles(t, o.Directory) {
		info, err := os.Stat(filepath.Join(o.Directory, file))
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if !errors.Is(failed, ondisk.ErrTooLarge) || size > limit+64<<10 { // allowance for loose objects
		t.Fatalf("%d bytes after renames, at most %d; the last update: %v, want ErrTooLarge", size, limit, failed)
	}
}

// TestSymbolicRefsAreCheap lists one branch for each of many symbolic refs, each of which
// leads to the next and the last to a packed ref or nowhere. The cost must grow with the
// number of refs; reading packed-refs for each ref took a minute.
func TestSymbolicRefsAreCheap(t *testing.T) {
	clocktest.CheckLinear(t, "symbolic refs", 1000, func(size int) {
		dir, commit := makeSymbolicRefs(t, size)
		refs, err := openRepository(t, dir).List(t.Context(), "refs/heads/")
		if want := 20*size + size/2 + 1; err != nil || len(refs) != want || refs["refs/heads/s-3"] != commit {
			t.Fatalf("%d refs, %v; want %d", len(refs), err, want)
		}
	})
}

// makeSymbolicRefs returns a repository with 20 packed refs for each of a number of
// symbolic refs, half of which are dangling.
func makeSymbolicRefs(t *testing.T, symbolic int) (dir string, commit code.CommitID) {
	t.Helper()
	repo := gittest.New(t)
	commit = repo.CommitFiles("a", "1")
	git := filepath.Join(repo.Dir, ".git")
	var packed strings.Builder
	for n := range 20 * symbolic {
		fmt.Fprintf(&packed, "%s refs/heads/packed-%d\n", commit, n)
	}
	if err := os.WriteFile(filepath.Join(git, "packed-refs"), []byte(packed.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	link := func(name, target string) {
		if err := os.WriteFile(filepath.Join(git, "refs", "heads", name), []byte("ref: refs/heads/"+target+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for n := range symbolic / 2 {
		link(fmt.Sprintf("s-%d", n), "packed-7")
		link(fmt.Sprintf("dangling-%d", n), "missing")
	}
	link("loop", "loop")
	return repo.Dir, commit
}
