package store

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
)

// TestCompactRows deletes rows and checks that no file contains them afterwards, neither
// tables nor reusable files of the write-ahead log.
func TestCompactRows(t *testing.T) {
	const word = "rowcanaryqzjxkvwm"
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Open(dir, Options{})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	put := func(change func(b *Batch)) {
		b := s.NewBatch()
		change(b)
		must(t, b.Commit())
	}
	for i := range 4 { // in a table, in kept logs, and in the current one
		put(func(b *Batch) { must(t, b.Set(fmt.Appendf(nil, "pe%d", i), fmt.Appendf(nil, "%s%d", word, i))) })
		if i < 3 {
			must(t, s.CompactRows(t.Context()))
		}
	}
	if n := filesHolding(t, dir, word); n < 2 {
		t.Fatalf("the rows are in %d files before they are deleted: the test sees nothing", n)
	}
	snapshot := s.NewSnapshot()
	put(func(b *Batch) { must(t, b.DeleteRange([]byte("pe"), []byte("pf"))) })
	must(t, s.CompactRows(t.Context()))
	if s.Snapshots() != 1 || filesHolding(t, dir, word) == 0 {
		t.Fatal("a snapshot lost its rows")
	}
	must(t, snapshot.Close())
	must(t, s.CompactRows(t.Context()))
	// Pebble deletes files in the background.
	clocktest.WaitUntil(t, "the deletion of files with deleted rows", func() bool { return filesHolding(t, dir, word) == 0 })
}

func filesHolding(t *testing.T, dir, word string) (n int) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, []byte(word)) {
				n++
			}
		}
		return nil
	}))
	return n
}
