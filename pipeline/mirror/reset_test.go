package mirror

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
)

// TestResetIsAtOnce looks at a mirror while it is reset: the repository is there as a whole or
// not at all.
func TestResetIsAtOnce(t *testing.T) {
	repo := gittest.New(t)
	repo.CommitFiles("a", "one\n")
	m, fetch := mirrorOverHTTP(t, repo)
	fetch()
	many := filepath.Join(m.gitDir(), "objects", "many")
	if err := os.Mkdir(many, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 3000 {
		f, err := os.CreateTemp(many, "file-*")
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error)
	go func() { done <- m.Reset(t.Context()) }()
	for partial := 0; ; {
		entries, err := os.ReadDir(many)
		if err == nil && len(entries) < 3000 {
			if _, err := os.Stat(m.gitDir()); err == nil {
				partial++
			}
		}
		select {
		case err := <-done:
			if err != nil || partial > 0 || isThere(m.gitDir()) || isThere(m.discardedDir()) {
				t.Errorf("reset: %v; the repository was seen %d times without some of its files", err, partial)
			}
			return
		default:
		}
	}
}

// TestInterruptedResetKeepsNothing checks that an erasure and a fetch remove what is left of a
// repository whose reset was interrupted by a kill.
func TestInterruptedResetKeepsNothing(t *testing.T) {
	repo := gittest.New(t)
	commit := repo.CommitFiles("a", "one\n")
	for name, action := range map[string]func(m *Mirror, fetch func()) error{
		"erase commit": func(m *Mirror, _ func()) error { return m.EraseCommit(t.Context(), commit) },
		"erase path":   func(m *Mirror, _ func()) error { return m.ErasePath(t.Context(), "a") },
		"fetch":        func(_ *Mirror, fetch func()) error { fetch(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			m, fetch := mirrorOverHTTP(t, repo)
			fetch()
			if err := os.Rename(m.gitDir(), m.discardedDir()); err != nil {
				t.Fatal(err)
			}
			if err := action(m, fetch); err != nil || isThere(m.discardedDir()) {
				t.Errorf("%v, or the discarded repository is still there", err)
			}
		})
	}
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
