package indexer

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// loseMirrors removes all local state of this process except the log.
func (b *bench) loseMirrors() {
	b.t.Helper()
	if err := os.RemoveAll(b.mirrorsDir()); err != nil {
		b.t.Fatal(err)
	}
	b.reopenMirrors()
}

// reopenMirrors replaces the Indexer by that of a new process over the same directory.
func (b *bench) reopenMirrors() {
	b.t.Helper()
	_ = b.mirrors.Close() // it only stops readers
	var err error
	b.mirrors, err = mirror.Open(b.t.Context(), mirror.Options{
		Dir: b.mirrorsDir(), Policy: b.policy, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = b.mirrors.Close() })
	o := b.x.o
	o.Mirrors = b.mirrors
	if b.x, err = New(o); err != nil {
		b.t.Fatal(err)
	}
}

// withTwoBranches indexes dev1 and dev2 in addition to main, and then deletes them.
func withTwoBranches(t *testing.T) *bench {
	b := newBench(t, "dev*")
	b.repo.CommitFiles("a", "1\n")
	b.registerRepository()
	for _, branch := range []string{"dev1", "dev2"} {
		b.repo.Git("checkout", "--quiet", "-b", branch)
		b.repo.CommitFiles(branch, "2\n")
		b.push(branch)
	}
	b.check("main", "dev1", "dev2")
	b.repo.Git("checkout", "--quiet", "main")
	b.repo.Git("branch", "-D", "dev1", "dev2")
	return b
}

// TestBranchDeletedWhileTheMirrorIsLost covers a bug found by the chaos suite: a branch
// that was deleted while the mirror was lost stayed searchable.
func TestBranchDeletedWhileTheMirrorIsLost(t *testing.T) {
	t.Parallel()
	b := withTwoBranches(t)
	b.loseMirrors()
	b.push("dev1")
	b.check("main")
}

// TestBranchDeletedThatTheMirrorNeverHad does the same with an existing mirror, while
// another worker held the partition and indexed commits that the mirror never had.
func TestBranchDeletedThatTheMirrorNeverHad(t *testing.T) {
	t.Parallel()
	b := withTwoBranches(t)
	m := b.mirrors.Mirror(b.code.ID)
	if err := m.SetIndexed(t.Context(), "refs/heads/dev1", "", ""); err != nil {
		t.Fatal(err)
	}
	b.push("dev1")
	b.push("dev2")
	b.check("main")
	b.push("dev1")
	if b.last != nil {
		t.Errorf("the same push again says %+v", b.last)
	}
}

// mirrorLosses are parts of the mirrors that a disk or a person may remove. "mirrors" is
// the whole directory, which is documented as a cache.
var mirrorLosses = map[string]func(b *bench) []string{
	"mirrors":       func(b *bench) []string { return []string{b.mirrorsDir()} },
	"notes":         func(b *bench) []string { return []string{filepath.Join(b.mirrorsDir(), "notes")} },
	"configuration": func(b *bench) []string { return []string{filepath.Join(b.mirrorsDir(), "git.config")} },
	"one mirror":    func(b *bench) []string { return []string{b.mirrorDir()} },
	"registration":  func(b *bench) []string { return []string{filepath.Join(b.mirrorDir(), "quarry.json")} },
	"repository":    func(b *bench) []string { return []string{filepath.Join(b.mirrorDir(), "git")} },
	"HEAD":          func(b *bench) []string { return []string{filepath.Join(b.mirrorDir(), "git", "HEAD")} },
	"objects":       func(b *bench) []string { return []string{filepath.Join(b.mirrorDir(), "git", "objects")} },
	"all objects": func(b *bench) []string {
		return b.glob(filepath.Join(b.mirrorDir(), "git", "objects", "??", "*"), filepath.Join(b.mirrorDir(), "git", "objects", "pack", "*"))
	},
	"refs":          func(b *bench) []string { return []string{filepath.Join(b.mirrorDir(), "git", "refs")} },
	"branches":      func(b *bench) []string { return []string{filepath.Join(b.mirrorDir(), "git", "refs", "heads")} },
	"indexed state": func(b *bench) []string { return []string{filepath.Join(b.mirrorDir(), "git", "refs", "quarry")} },
	"git's configuration": func(b *bench) []string {
		return []string{filepath.Join(b.mirrorDir(), "git", "config")}
	},
}

func (b *bench) mirrorsDir() string { return filepath.Join(b.dir, "mirrors") }

func (b *bench) mirrorDir() string {
	return filepath.Join(b.mirrorsDir(), fmt.Sprintf("%02x", byte(b.code.ID)), b.code.ID.String())
}

func (b *bench) glob(patterns ...string) (paths []string) {
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			b.t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	return paths
}

// TestLostMirrorsComeBack removes parts of the mirrors, with the process stopped or
// running, and then pushes in every form that hosts use.
func TestLostMirrorsComeBack(t *testing.T) {
	const ref = "refs/heads/main"
	pushes := map[string]func(b *bench, before, after code.CommitID) *event.Push{
		"commits": func(_ *bench, before, after code.CommitID) *event.Push {
			return &event.Push{Ref: ref, Before: before, After: after, Action: event.ActionUpdated}
		},
		"only the ref": func(*bench, code.CommitID, code.CommitID) *event.Push {
			return &event.Push{Ref: ref, Action: event.ActionUpdated}
		},
		"refresh a ref": func(*bench, code.CommitID, code.CommitID) *event.Push {
			return &event.Push{Ref: ref, Action: event.ActionRefresh}
		},
		"refresh all": func(*bench, code.CommitID, code.CommitID) *event.Push {
			return &event.Push{Action: event.ActionRefresh}
		},
	}
	repo := gittest.New(t)
	before := repo.CommitFiles("a", "1\n", "same", "2\n")
	repo.Git("branch", "dev1")
	imported := repo.Snapshot()
	after := repo.CommitFiles("a", "3\n")
	pushed := repo.Snapshot()
	repo.CommitFiles("a", "4\n")
	pushedAgain := repo.Snapshot()
	for loss, paths := range mirrorLosses {
		for form, push := range pushes {
			if loss != "mirrors" && form != "only the ref" && form != "refresh a ref" {
				continue // the other cases take the same path
			}
			for _, running := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/running=%t", loss, form, running), func(t *testing.T) {
					t.Parallel()
					b := newBench(t, "dev*")
					b.repo.Restore(imported)
					b.registerRepository()
					b.repo.Restore(pushed)
					for _, path := range paths(b) {
						if err := os.RemoveAll(path); err != nil {
							t.Fatal(err)
						}
					}
					if !running {
						b.reopenMirrors()
					}
					p := push(b, before, after)
					p.Repository, p.ReceivedAt = b.code.ID, time.Unix(2, 0)
					b.must(p)
					b.check("main", "dev1")
					// The next push is an ordinary one.
					b.repo.Restore(pushedAgain)
					b.push("main")
					b.check("main", "dev1")
				})
			}
		}
	}
}
