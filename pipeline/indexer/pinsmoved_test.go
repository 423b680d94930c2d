package indexer

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// copyMirrors copies the mirrors of another worker: they will lag behind the log.
func (b *bench) copyMirrors() (dir string) {
	b.t.Helper()
	dir = filepath.Join(b.t.TempDir(), "mirrors")
	if out, err := exec.Command("cp", "-a", b.mirrorsDir(), dir).CombinedOutput(); err != nil {
		b.t.Fatalf("copy the mirrors: %v %s", err, out)
	}
	return dir
}

// moveTo continues with the copied mirrors, as if the partition moved to their worker.
func (b *bench) moveTo(dir string) {
	b.t.Helper()
	if err := os.RemoveAll(b.mirrorsDir()); err != nil {
		b.t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", dir, b.mirrorsDir()).CombinedOutput(); err != nil {
		b.t.Fatalf("copy the mirrors: %v %s", err, out)
	}
	b.reopenMirrors()
}

func (b *bench) changePins(commits ...code.CommitID) {
	b.t.Helper()
	b.must(&event.PinsChanged{Repository: b.code.ID, Commits: commits, At: time.Unix(1, 0)})
}

func (b *bench) checkPins(what string, want ...code.CommitID) {
	b.t.Helper()
	refs := make([]code.Ref, len(want))
	for i, commit := range want {
		refs[i] = code.PinRef(commit)
	}
	slices.Sort(refs)
	if got := b.pinnedRefs(); !slices.Equal(got, refs) {
		b.t.Errorf("%s: pins %v, want %v", what, got, refs)
	}
}

// newBenchWithBranch returns a bench with a branch that alone leads to the returned commit.
func newBenchWithBranch(t *testing.T) (*bench, code.CommitID) {
	b := newBench(t, "dev*")
	b.repo.CommitFiles("a", "1\n")
	b.registerRepository()
	b.repo.Git("checkout", "--quiet", "-b", "dev1")
	commit := b.repo.CommitFiles("secret", "s\n")
	b.repo.Git("checkout", "--quiet", "main")
	return b, commit
}

// TestStaleBranchKeepsNoPin deletes a branch while another worker has the partition: the
// old branch in this worker's mirror must not make a commit searchable again.
func TestStaleBranchKeepsNoPin(t *testing.T) {
	t.Parallel()
	b, commit := newBenchWithBranch(t)
	b.push("dev1")
	b.changePins(commit)
	b.checkPins("pinned", commit)
	stale := b.copyMirrors()
	b.repo.Git("branch", "-D", "dev1")
	b.push("dev1")
	b.checkPins("the branch is deleted")
	b.moveTo(stale)
	b.repo.CommitFiles("a", "2\n")
	b.push("main")
	b.checkPins("a push on the worker with the old branch")
}

// TestPinOfAnotherWorkerIsRemoved removes a pin of which this worker's mirror knows nothing.
func TestPinOfAnotherWorkerIsRemoved(t *testing.T) {
	t.Parallel()
	b, commit := newBenchWithBranch(t)
	stale := b.copyMirrors()
	b.push("dev1")
	b.changePins(commit)
	b.checkPins("pinned by another worker", commit)
	b.moveTo(stale)
	b.repo.Git("branch", "-D", "dev1")
	b.push("dev1")
	b.checkPins("the branch is deleted")
}

// TestPinsWithoutAMirror changes the pins on a worker that has no mirror.
func TestPinsWithoutAMirror(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.repo.CommitFiles("a", "1\n")
	second := b.repo.CommitFiles("a", "2\n")
	b.repo.CommitFiles("a", "3\n")
	b.registerRepository()
	b.changePins(first)
	b.loseMirrors()
	b.changePins(second)
	b.checkPins("other pins", second)
}

// TestDamagedPinsAreReadFromTheLog damages the stored pins before a push and before a check
// of all refs.
func TestDamagedPinsAreReadFromTheLog(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.repo.CommitFiles("a", "1\n")
	b.repo.CommitFiles("a", "2\n")
	b.registerRepository()
	b.changePins(first)
	for _, next := range []func(){
		func() { b.repo.CommitFiles("a", "3\n"); b.push("main") },
		func() { b.must(&event.RepositoryChanged{Repository: b.code, At: time.Unix(1, 0)}) },
	} {
		if err := os.WriteFile(filepath.Join(b.mirrorDir(), "pins.json"), []byte("[]\nx\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		next()
		b.checkPins("after the damage", first)
	}
}

// TestGiantCommitIsNotPinned pins a commit that is too large to be read, among others.
func TestGiantCommitIsNotPinned(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pins := []code.CommitID{b.repo.CommitFiles("a", "1\n")}
	message := filepath.Join(b.dir, "message")
	if err := os.WriteFile(message, []byte(strings.Repeat("giant line of a message\n", 60_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	b.repo.Git("commit", "--quiet", "--allow-empty", "-F", message)
	giant := b.repo.CommitOf("HEAD")
	for i := range 4 {
		pins = append(pins, b.repo.CommitFiles("a", strings.Repeat("z", i+3)))
	}
	b.registerRepository()
	b.changePins(append([]code.CommitID{giant}, pins...)...)
	b.checkPins("pinned", pins...)
	b.repo.CommitFiles("a", "next\n")
	b.push("main")
	b.checkPins("a push", pins...)
}

// failingLog refuses lists of submodules.
type failingLog struct{ Log }

func (l failingLog) Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error) {
	if event.TypeOf(records[0]) == event.TypeSubmodulesListed {
		return nil, errors.New("the log is down")
	}
	return l.Log.Append(ctx, topic, partition, records...)
}

// linkSubmodule commits a submodule at a commit of the repeated digits.
func (b *bench) linkSubmodule(digits string) (linked, head code.CommitID) {
	linked = code.CommitID(strings.Repeat(digits, 20))
	b.repo.Git("update-index", "--add", "--cacheinfo", "160000,"+string(linked)+",lib/a")
	b.repo.Write(".gitmodules", "[submodule \"a\"]\n\tpath = lib/a\n\turl = https://git.example/a\n")
	b.repo.Git("add", ".gitmodules")
	b.repo.Git("commit", "--quiet", "--message", "link")
	return linked, b.repo.CommitOf("HEAD")
}

// TestSubmodulesAreListedAfterAFailure repeats a push whose list of submodules could not be
// appended, although its ref is indexed already.
func TestSubmodulesAreListedAfterAFailure(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.code.Submodules = true
	b.repo.CommitFiles("a.txt", "one\n")
	b.registerRepository()
	_, head := b.linkSubmodule("12")
	rec := b.append(&event.Push{Repository: b.code.ID, Ref: "refs/heads/main", Action: event.ActionUpdated, After: head, ReceivedAt: time.Unix(2, 0)})
	log := b.x.o.Log
	b.x.o.Log = failingLog{log}
	if err := b.deliver(rec); err == nil {
		t.Error("the push succeeded without its list of submodules")
	}
	b.x.o.Log = log
	if err := b.deliver(rec); err != nil || len(b.submoduleLists()) != 1 {
		t.Errorf("repeated: %v, lists %v", err, b.submoduleLists())
	}
}

// TestSubmodulesOfAnotherWorker lists the submodules again if another worker announced
// others in the meantime.
func TestSubmodulesOfAnotherWorker(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.code.Submodules = true
	b.repo.CommitFiles("a.txt", "one\n")
	first, _ := b.linkSubmodule("12")
	b.registerRepository()
	stale := b.copyMirrors()
	b.linkSubmodule("34")
	b.push("main")
	b.moveTo(stale)
	b.linkSubmodule("12")
	b.push("main")
	lists := b.submoduleLists()
	if last := lists[len(lists)-1]; len(last) != 1 || last[0].Commit != first {
		t.Errorf("the lists are %v, want the last with %s", lists, first)
	}
}
