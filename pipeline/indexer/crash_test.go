package indexer

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

var errKilled = errors.New("killed")

// cutLog fails after the log has accepted a record: between the append and the update of
// the mirror's indexed state.
type cutLog struct {
	Log
	die bool
}

func (c *cutLog) Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error) {
	at, err := c.Log.Append(ctx, topic, partition, records...)
	if c.die {
		c.die = false
		return nil, errKilled
	}
	return at, err
}

// redeliver delivers an event again, as a worker does after a crash.
func (b *bench) redeliver(ev event.Event, at event.Offset) {
	b.t.Helper()
	rec, err := event.Encode(event.Envelope{ID: "again", Source: "/test", Time: time.Unix(1, 0)}, ev)
	if err != nil {
		b.t.Fatal(err)
	}
	rec.Position = event.Position{Topic: event.TopicEvents, Offset: at}
	if err := b.deliver(rec); err != nil {
		b.t.Fatal(err)
	}
}

func TestCrashAfterAppendDoesNotBuildOnAnOldBase(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.repo.CommitFiles("a", "1\n")
	b.registerRepository()
	b.x.o.Log = &cutLog{Log: b.x.o.Log, die: true}
	b.repo.CommitFiles("only-for-a-moment", "x\n")
	ev := &event.Push{Repository: b.code.ID, Ref: "refs/heads/main", Action: event.ActionUpdated, ReceivedAt: time.Unix(2, 0)}
	if err := b.handle(ev); err == nil {
		t.Fatal("the append did not fail")
	}
	appended := b.last.Commit
	b.repo.Remove("only-for-a-moment")
	b.repo.CommitFiles("b", "2\n")
	b.redeliver(ev, b.read-2)
	if b.last.BaseCommit != appended {
		t.Fatalf("the next event builds on %s, the log has %s", b.last.BaseCommit, appended)
	}
	b.check("main")
}

// TestRepeatedCauseThatWasOvertaken handles two pushes, then the first again: it must not
// announce anything, because readers drop announcements with an older cause.
func TestRepeatedCauseThatWasOvertaken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.repo.CommitFiles("a", "1\n")
	b.registerRepository()
	var at [2]event.Offset
	ev := &event.Push{Repository: b.code.ID, Ref: "refs/heads/main", Action: event.ActionUpdated, ReceivedAt: time.Unix(2, 0)}
	for i := range at {
		b.repo.CommitFiles("a", string(rune('2'+i)))
		at[i] = b.read
		b.must(ev)
	}
	b.repo.CommitFiles("a", "9\n")
	b.assigned = nil // the partition was revoked and assigned again
	b.redeliver(ev, at[0])
	if b.last != nil {
		t.Fatalf("the first push again says %+v", b.last)
	}
	b.redeliver(ev, at[1])
	b.check("main")
}

func TestRefreshOfARefTellsEverything(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.repo.CommitFiles("a", "1\n", "b", "2\n")
	b.registerRepository()
	b.must(&event.Push{Repository: b.code.ID, Ref: "refs/heads/main", Action: event.ActionRefresh, ReceivedAt: time.Unix(2, 0)})
	if b.last == nil || b.last.BaseCommit != "" || len(b.last.Changes) != 2 {
		t.Fatalf("a refresh of a ref says %+v", b.last)
	}
	b.check("main")
	b.must(&event.Push{Repository: b.code.ID, Action: event.ActionRefresh, ReceivedAt: time.Unix(3, 0)})
	if b.last != nil {
		t.Fatalf("a look at a repository that did not change says %+v", b.last)
	}
}

func TestRenamedDefaultBranchBuildsOnTheOldOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.repo.CommitFiles("a", "1\n", "b", "2\n")
	b.registerRepository()
	b.repo.Git("branch", "--move", "main", "trunk")
	b.repo.CommitFiles("c", "3\n")
	b.must(&event.Push{Repository: b.code.ID, Action: event.ActionRefresh, ReceivedAt: time.Unix(3, 0)})
	b.check("trunk")
	if _, ok := b.refs[code.BranchRef("main")]; ok {
		t.Fatal("the old default branch is still there")
	}
}
