package indexer

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/event"
)

// TestCloneURLStaysUntilTheNewOneIsFetched registers a repository again with clone URLs
// that do not work. Pushes are still fetched from the former one.
func TestCloneURLStaysUntilTheNewOneIsFetched(t *testing.T) {
	b := newBench(t)
	b.repo.CommitFiles("a.go", "package a\n")
	b.must(&event.RepositoryRegistered{Repository: b.code})
	if err := os.Mkdir(filepath.Join(b.dir, "clones"), 0o755); err != nil {
		t.Fatal(err)
	}
	wrong := b.code
	wrong.CloneURL, wrong.DisplayName = filepath.Join(b.dir, "clones", "none"), "renamed"
	if err := b.handle(&event.RepositoryRegistered{Repository: wrong}); !errors.Is(err, mirror.ErrVanished) {
		t.Fatalf("register at a path without a repository: %v, want %v", err, mirror.ErrVanished)
	}
	commit := b.repo.CommitFiles("b.go", "package b\n")
	b.push("main")
	if got := b.commits["refs/heads/main"]; got != commit {
		t.Errorf("after a push, main is at %s, want %s", got, commit)
	}
	if r, err := b.mirrors.Mirror(b.code.ID).Repository(); err != nil || r.CloneURL != b.code.CloneURL || r.DisplayName != "renamed" {
		t.Errorf("stored is %+v, %v, want the former clone URL and the new display name", r, err)
	}
	right := b.code
	right.CloneURL = filepath.Join(b.dir, "clones", "right")
	b.repo.Git("clone", "--quiet", "--bare", b.repo.Dir, right.CloneURL)
	b.must(&event.RepositoryRegistered{Repository: right})
	if r, err := b.mirrors.Mirror(b.code.ID).Repository(); err != nil || r.CloneURL != right.CloneURL {
		t.Errorf("stored is %+v, %v, want clone URL %s", r, err, right.CloneURL)
	}
}
