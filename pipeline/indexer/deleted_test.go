package indexer

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Found by the simulation: a deleted branch stayed searchable when the first attempt to
// announce the deletion failed.

// refreshOf returns a push that names a ref or, if empty, all refs, but no commits.
func (b *bench) refreshOf(ref code.Ref) *event.Push {
	return &event.Push{Repository: b.code.ID, Ref: ref, Action: event.ActionRefresh, ReceivedAt: time.Unix(3, 0)}
}

// TestDeletedBranchWhoseRefreshFailed makes the host unreachable when the push of a
// deleted branch arrives.
func TestDeletedBranchWhoseRefreshFailed(t *testing.T) {
	t.Parallel()
	b := withTwoBranches(t)
	away := b.repo.Dir + ".away"
	if err := os.Rename(b.repo.Dir, away); err != nil {
		t.Fatal(err)
	}
	if err := b.handle(b.refreshOf("refs/heads/dev1")); err == nil {
		t.Fatal("a fetch from a host that is away succeeded")
	}
	if err := os.Rename(away, b.repo.Dir); err != nil {
		t.Fatal(err)
	}
	b.must(b.refreshOf(""))
	b.check("main")
}

// TestDeletedBranchOfWhichAllWasForgotten removes the indexed state of one branch.
func TestDeletedBranchOfWhichAllWasForgotten(t *testing.T) {
	t.Parallel()
	b := withTwoBranches(t)
	if err := b.mirrors.Mirror(b.code.ID).SetIndexed(t.Context(), "refs/heads/dev1", "", ""); err != nil {
		t.Fatal(err)
	}
	records := []event.Record{b.append(b.refreshOf("")), b.append(b.refreshOf("refs/heads/dev1"))}
	if err := b.deliver(records...); err != nil {
		t.Fatal(err)
	}
	b.check("main")
}

// TestLostMirrorWhoseFirstAttemptFailed makes the process die after its first append.
func TestLostMirrorWhoseFirstAttemptFailed(t *testing.T) {
	t.Parallel()
	for name, ev := range map[string]func(b *bench) event.Event{
		"refresh": func(b *bench) event.Event { return b.refreshOf("") },
		"changed": func(b *bench) event.Event { return &event.RepositoryChanged{Repository: b.code, At: time.Unix(3, 0)} },
	} {
		t.Run(name, func(t *testing.T) {
			b := withTwoBranches(t)
			b.loseMirrors()
			b.x.o.Log = &cutLog{Log: b.x.o.Log, die: true}
			rec := b.append(ev(b))
			if err := b.deliver(rec); err == nil {
				t.Fatal("the append did not fail")
			}
			if err := b.deliver(rec); err != nil {
				t.Fatal(err)
			}
			b.check("main")
		})
	}
}

// TestLostMirrorWhoseProcessDiedAfterTheFetch recreates the mirror without reading the
// log: in the next process, the refs that still exist catch up with the log.
func TestLostMirrorWhoseProcessDiedAfterTheFetch(t *testing.T) {
	t.Parallel()
	b := withTwoBranches(t)
	b.repo.Git("reflog", "expire", "--expire=now", "--all")
	b.repo.Git("gc", "--quiet", "--prune=now") // a mirror on the same machine shares existing objects
	b.loseMirrors()
	if _, err := b.mirrors.Mirror(b.code.ID).Fetch(t.Context(), b.code); err != nil {
		t.Fatal(err)
	}
	if err := b.mirrors.Mirror(b.code.ID).Save(b.code); err != nil {
		t.Fatal(err)
	}
	b.reopenMirrors()
	b.must(b.refreshOf(""))
	b.check("main")
}

// TestBranchDeletedThatAnotherWorkerIndexed creates and deletes a branch while another
// worker holds the partition. The push of the deletion does not name it.
func TestBranchDeletedThatAnotherWorkerIndexed(t *testing.T) {
	t.Parallel()
	b := newBench(t, "dev*")
	b.repo.CommitFiles("a", "1\n")
	b.registerRepository()
	worker := filepath.Join(b.dir, "worker")
	if err := os.CopyFS(worker, os.DirFS(b.mirrorsDir())); err != nil {
		t.Fatal(err)
	}
	b.repo.Git("checkout", "--quiet", "-b", "dev1")
	b.repo.CommitFiles("dev1", "2\n")
	b.push("dev1")
	b.check("main", "dev1")
	b.repo.Git("checkout", "--quiet", "main")
	b.repo.Git("branch", "-D", "dev1")

	if err := os.RemoveAll(b.mirrorsDir()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(worker, b.mirrorsDir()); err != nil {
		t.Fatal(err)
	}
	b.reopenMirrors()
	b.must(b.refreshOf(""))
	b.check("main")
	log := b.restart(b.log)
	b.assigned = b.x
	b.must(b.refreshOf(""))
	if log.read != 0 {
		t.Errorf("%d records of the log were read though the mirror knows of all refs", log.read)
	}
}
