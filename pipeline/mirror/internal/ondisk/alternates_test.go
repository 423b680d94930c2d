package ondisk_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror/internal/ondisk"
)

// TestAlternatesAreBounded opens repositories that borrow objects: those within the
// bounds open, those beyond the bounds are refused.
func TestAlternatesAreBounded(t *testing.T) {
	for _, tc := range []struct {
		name string
		// borrow returns the content of a repository's info/alternates; root is a new
		// directory.
		borrow  func(t *testing.T, root string) string
		refused bool
	}{
		{"as many as allowed, most of them missing", func(_ *testing.T, root string) string { return listMissing(root, 64) }, false},
		{"one too many", func(_ *testing.T, root string) string { return listMissing(root, 65) }, true},
		{"the longest chain", func(t *testing.T, root string) string { return chainAlternates(t, root, 5) }, false},
		{"a longer chain", func(t *testing.T, root string) string { return chainAlternates(t, root, 6) }, true},
		{"a circle", func(t *testing.T, root string) string {
			objects := makeObjects(t, root, "circle")
			writeAlternates(t, objects, objects+"\n")
			return objects + "\n"
		}, true},
		{"a long list", func(_ *testing.T, root string) string { return strings.Repeat("# nothing\n", 8<<10) }, true},
		{"a quoted path", func(_ *testing.T, root string) string { return "\"" + root + "\"\n" }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			repo := gittest.New(t)
			repo.CommitFiles("a", "1")
			writeAlternates(t, filepath.Join(repo.Dir, ".git", "objects"), tc.borrow(t, t.TempDir()))
			opened, err := ondisk.Open(repo.Dir, os.OpenRoot)
			if err == nil {
				opened.Close()
			}
			if refused := errors.Is(err, ondisk.ErrRefused) || errors.Is(err, ondisk.ErrTooLarge); refused != tc.refused || !refused && err != nil {
				t.Fatalf("%v; want a refusal: %t", err, tc.refused)
			}
		})
	}
}

func makeObjects(t *testing.T, root, name string) string {
	t.Helper()
	dir := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Join(dir, "info"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func writeAlternates(t *testing.T, objects, list string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(objects, "info", "alternates"), []byte(list), 0o644); err != nil {
		t.Fatal(err)
	}
}

// listMissing returns a list of n object directories that do not exist.
func listMissing(root string, n int) string {
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, "%s/missing-%d\n", root, i)
	}
	return list.String()
}

// chainAlternates creates n object directories, each of which borrows from the next, and
// returns a list with the first.
func chainAlternates(t *testing.T, root string, n int) string {
	t.Helper()
	next := ""
	for i := range n {
		dir := makeObjects(t, root, fmt.Sprint("chain-", i))
		writeAlternates(t, dir, next)
		next = dir + "\n"
	}
	return next
}
