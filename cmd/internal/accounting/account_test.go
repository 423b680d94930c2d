package accounting

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

const commit = code.CommitID("89e9241e75133b51f62bd5457b2722a681171094")

func encodeEvent(t *testing.T, id string, at time.Time, ev event.Event) event.Record {
	t.Helper()
	r, err := event.Encode(event.Envelope{ID: id, Source: "/test", Time: at}, ev)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEveryPushIsHeldAgainstTheLog(t *testing.T) {
	ctx := context.Background()
	log, err := embeddedlog.Open(t.TempDir(), embeddedlog.Options{Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}()
	at := time.Unix(1_700_000_000, 0).UTC()
	add := func(topic event.Topic, r event.Record) event.Position {
		t.Helper()
		positions, err := log.Append(ctx, topic, eventlog.AnyPartition, r)
		if err != nil {
			t.Fatal(err)
		}
		return positions[0]
	}
	push := func(id string, ref string) event.Position {
		return add(event.TopicEvents, encodeEvent(t, id, at, &event.Push{Repository: 7, Ref: code.Ref(ref), Action: event.ActionUpdated, ReceivedAt: at, DeliveryID: id}))
	}
	first := push("a", "refs/heads/main")
	second := push("b", "refs/heads/main")
	other := push("c", "refs/heads/other")
	dead := push("d", "refs/heads/dead")
	open := push("e", "refs/heads/main")
	indexed := &event.RevisionIndexed{Repository: 7, Ref: "refs/heads/main", Commit: commit, BaseRef: "refs/heads/main", BaseCommit: commit, Cause: second, PushedAt: at, IndexedAt: at}
	add(event.TopicEvents, encodeEvent(t, "r", at, indexed))
	add(event.TopicEvents, encodeEvent(t, "r", at, indexed))
	add(event.TopicEvents, encodeEvent(t, "h", at, &event.PushesHandled{Repository: 7, At: at, Pushes: []event.HandledPush{{Offset: other.Offset, Outcome: event.PushUnchanged}}}))
	add(event.TopicDeadLetters, event.DeadLetter(event.Record{Key: []byte("k"), Position: dead}, "worker", 5, errors.New("no")))
	add(event.TopicEvents, event.Record{Key: event.RecordKey(7), Value: []byte("garbage")})

	a, err := Read(ctx, log)
	if err != nil {
		t.Fatal(err)
	}
	if a.Pushes != 5 || a.Indexed != 2 || a.Handled != 1 || a.Dead != 1 || a.DeadLetters != 1 || a.Revisions != 1 || a.Doubled != 1 || len(a.Unreadable) != 1 {
		t.Errorf("%+v", a)
	}
	if len(a.Open) != 1 || a.Open[0].Position != open {
		t.Errorf("open: %v, want %v; the first was at %v", a.Open, open, first)
	}
}
