package indexer

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// submoduleLists returns the submodule lists in the log, in order.
func (b *bench) submoduleLists() (lists [][]code.Submodule) {
	b.t.Helper()
	b.scanLog(0, func(_ event.Record, ev event.Event) {
		if e, ok := ev.(*event.SubmodulesListed); ok {
			lists = append(lists, e.Submodules)
		}
	})
	return lists
}

// pinnedRefs returns the pins that the log announces, without those removed.
func (b *bench) pinnedRefs() (refs []code.Ref) {
	for ref, commit := range b.commits {
		if ref.IsPin() && commit != "" {
			refs = append(refs, ref)
		}
	}
	slices.Sort(refs)
	return refs
}

// TestSubmodulesAreAnnounced pushes changes of submodules, and switches the option on and
// off.
func TestSubmodulesAreAnnounced(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := code.CommitID(strings.Repeat("12", 20))
	commitLink := func(commit code.CommitID) {
		b.repo.Git("update-index", "--add", "--cacheinfo", "160000,"+string(commit)+",lib/a")
		b.repo.Write(".gitmodules", "[submodule \"a\"]\n\tpath = lib/a\n\turl = https://git.example/a\n")
		b.repo.Git("add", ".gitmodules")
		b.repo.Git("commit", "--quiet", "--message", "link")
	}
	b.repo.CommitFiles("a.txt", "one\n")
	commitLink(other)
	b.must(&event.RepositoryRegistered{Repository: b.code, At: time.Unix(1, 0)})
	if got := b.submoduleLists(); len(got) != 0 {
		t.Errorf("without the option, the log lists %v", got)
	}
	b.code.Submodules = true
	b.must(&event.RepositoryChanged{Repository: b.code, At: time.Unix(1, 0)})
	b.repo.Write("b.txt", "no change of submodules\n")
	b.repo.Git("add", "b.txt") // all of "." would remove the submodule, which has no directory
	b.repo.Git("commit", "--quiet", "--message", "more")
	b.push("main")
	if got := b.submoduleLists(); len(got) != 1 || !slices.Equal(got[0], []code.Submodule{{CloneURL: "https://git.example/a", Commit: other}}) {
		t.Errorf("with the option, the log lists %v", got)
	}
	b.repo.Write(".gitmodules", "[submodule \"a\"]\n\tpath = lib/a\n\turl = ssh://ann:hunter2@git.example/a\n")
	b.repo.Git("add", ".gitmodules")
	b.repo.Git("commit", "--quiet", "--message", "a password")
	b.push("main")
	if got := b.submoduleLists(); len(got) != 2 || len(got[1]) != 0 {
		t.Errorf("with a password in the URL, the log lists %v", got)
	}
	next := code.CommitID(strings.Repeat("34", 20))
	commitLink(next)
	b.push("main")
	if got := b.submoduleLists(); len(got) != 3 || got[2][0].Commit != next {
		t.Errorf("after a push, the log lists %v", got)
	}
	b.code.Submodules = false
	b.must(&event.RepositoryChanged{Repository: b.code, At: time.Unix(1, 0)})
	if got := b.submoduleLists(); len(got) != 4 || len(got[3]) != 0 {
		t.Errorf("with the option off again, the log lists %v", got)
	}
}

// TestPinsAreIndexed pins commits before and after a branch leads to them, pushes by force,
// loses the mirror, and removes the pins.
func TestPinsAreIndexed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.repo.CommitFiles("a.txt", "one\n")
	dropped := b.repo.CommitFiles("a.txt", "two\n", "b.txt", "dropped\n")
	b.repo.CommitFiles("a.txt", "three\n")
	b.changePins(first)
	b.checkPins("not registered")
	b.must(&event.RepositoryRegistered{Repository: b.code, At: time.Unix(1, 0)})
	b.changePins(first, dropped, code.CommitID(strings.Repeat("12", 20)))
	b.checkPins("registered", first, dropped)
	if got := b.refs[code.PinRef(dropped)]; len(got) != 2 {
		t.Errorf("a pin has the files %v, want a.txt and b.txt", got)
	}

	b.repo.Git("reset", "--quiet", "--hard", string(first))
	later := b.repo.CommitFiles("a.txt", "rewritten\n")
	b.push("main")
	b.checkPins("a forced push", first)

	b.changePins(first, later)
	b.repo.CommitFiles("a.txt", "four\n")
	b.push("main")
	b.checkPins("another push", first, later)

	// A worker without the mirror reads the pins from the log.
	if err := b.mirrors.Mirror(b.code.ID).Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.must(&event.RepositoryChanged{Repository: b.code, At: time.Unix(1, 0)})
	b.checkPins("the mirror is lost", first, later)
	b.must(&event.Push{Repository: b.code.ID, Ref: code.PinRef(first), Action: event.ActionRefresh, ReceivedAt: time.Unix(2, 0)})
	if got := b.last; got.Ref != code.PinRef(first) {
		t.Errorf("a refresh of a pin announced %s", got.Ref)
	}
	b.checkPins("a refresh", first, later)
	change := func(commits ...code.CommitID) event.Record {
		return b.append(&event.PinsChanged{Repository: b.code.ID, Commits: commits, At: time.Unix(1, 0)})
	}
	if err := b.deliver(change(), change(first)); err != nil {
		t.Fatal(err)
	}
	b.checkPins("two changes at once", first)
	b.changePins()
	b.checkPins("no pins")
}
