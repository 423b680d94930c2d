package indexer

import (
	"os"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Found by the simulation: a branch that was deleted stayed searchable when the first
// attempt to take it back failed.

// refreshOf is a push that names nothing but a ref, or all of them.
func (b *bench) refreshOf(ref code.Ref) *event.Push {
	return &event.Push{Repository: b.code.ID, Ref: ref, Action: event.ActionRefresh, ReceivedAt: time.Unix(3, 0)}
}

// TestDeletedBranchWhoseRefreshFailed has the host away when the push of a deleted
// branch comes.
func TestDeletedBranchWhoseRefreshFailed(t *testing.T) {
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

// TestDeletedBranchOfWhichAllWasForgotten has the indexed state of one branch lost.
func TestDeletedBranchOfWhichAllWasForgotten(t *testing.T) {
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

// TestLostMirrorWhoseFirstAttemptFailed has the process die after its first append.
func TestLostMirrorWhoseFirstAttemptFailed(t *testing.T) {
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
