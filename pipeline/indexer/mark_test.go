package indexer

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// countingLog counts the records that are read.
type countingLog struct {
	Log
	read int
}

type countingReader struct {
	eventlog.Reader
	log *countingLog
}

func (l *countingLog) Tail(ctx context.Context, topic event.Topic, partition int32, from event.Offset) (eventlog.Reader, error) {
	r, err := l.Log.Tail(ctx, topic, partition, from)
	return countingReader{r, l}, err
}

func (r countingReader) Next(ctx context.Context) (event.Record, error) {
	r.log.read++
	return r.Reader.Next(ctx)
}

// restart replaces the Indexer of the bench by another over the same directories, and
// counts the records that it reads.
func (b *bench) restart(log Log) *countingLog {
	b.t.Helper()
	counting := &countingLog{Log: log}
	var err error
	b.x, err = New(Options{
		Log: counting, Mirrors: b.mirrors, Analyzer: analyze.New(analyze.Options{OutlineTimeout: -1}), Segments: b.store, TempDir: b.dir, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return counting
}

// TestStartDoesNotReadTheWholeLog pushes, restarts and pushes again: the second process
// reads only the records since the last mark.
func TestStartDoesNotReadTheWholeLog(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.x.markEvery = 4
	b.repo.CommitFiles("a", "0\n")
	b.registerRepository()
	for i := range 12 {
		b.repo.CommitFiles("a", string(rune('b'+i)))
		b.push("main")
	}
	log := b.restart(b.log)
	b.repo.CommitFiles("c", "3\n")
	b.push("main")
	b.check("main")
	if log.read > 12 || b.read < 26 {
		t.Errorf("%d records of %d were read after the start", log.read, b.read)
	}
	if b.last == nil || len(b.last.Changes) != 1 {
		t.Errorf("the push after the start says %+v", b.last)
	}
}

// TestProcessWithoutMirrorsReadsNoOldRecords takes over a partition without any mirror of
// it: only records that may have overtaken the next one are read.
func TestProcessWithoutMirrorsReadsNoOldRecords(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.repo.CommitFiles("a", "0\n")
	b.registerRepository()
	for i := range 12 {
		b.repo.CommitFiles("a", string(rune('b'+i)))
		b.push("main")
	}
	b.loseMirrors()
	log := b.restart(b.log)
	rec := b.append(b.pushOf("main", 1))
	if err := b.x.Assigned(t.Context(), rec.Position); err != nil {
		t.Fatal(err)
	}
	if log.read > 1 {
		t.Errorf("%d records of %d were read", log.read, rec.Position.Offset)
	}
	if err := b.deliver(rec); err != nil {
		t.Fatal(err)
	}
	b.check("main")
}

// TestMarkWithCrashes marks after every record, and fails between the append and the
// update of the indexed state: later events build on the announced commits.
func TestMarkWithCrashes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.repo.CommitFiles("a", "1\n")
	b.registerRepository()
	for i := range 5 {
		b.restart(b.log)
		b.x.markEvery = 1
		b.repo.CommitFiles("a", string(rune('b'+i)))
		b.push("main")
		b.x.o.Log = &cutLog{Log: b.x.o.Log, die: true}
		b.repo.CommitFiles("moment", string(rune('b'+i)))
		ev := &event.Push{Repository: b.code.ID, Ref: "refs/heads/main", Action: event.ActionUpdated, ReceivedAt: time.Unix(2, 0)}
		if err := b.handle(ev); err == nil {
			t.Fatal("the append did not fail")
		}
		appended := b.last.Commit
		b.restart(b.log)
		b.repo.CommitFiles("b", string(rune('b'+i)))
		b.redeliver(ev, b.read-2)
		if b.last.BaseCommit != appended {
			t.Fatalf("the next event builds on %s, the log has %s", b.last.BaseCommit, appended)
		}
		b.check("main")
	}
}

// TestMarkOfAnotherLog replaces the log under the mirrors: the mark must be ignored.
func TestMarkOfAnotherLog(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.x.markEvery = 1
	b.repo.CommitFiles("a", "1\n")
	b.registerRepository()
	for i := range 4 {
		b.repo.CommitFiles("a", string(rune('b'+i)))
		b.push("main")
	}
	other, err := embeddedlog.Open(filepath.Join(b.dir, "other"), embeddedlog.Options{Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	if from, err := b.x.readMark(t.Context(), event.Position{Topic: event.TopicEvents, Offset: b.read}); err != nil || from == 0 {
		t.Fatalf("no mark of this log: %d, %v", from, err)
	}
	for range b.read {
		rec, err := event.Encode(event.Envelope{ID: "x", Source: "/test", Time: time.Unix(1, 0)}, &event.RepositoryRemoved{Repository: b.code.ID, At: time.Unix(1, 0)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Append(t.Context(), event.TopicEvents, 0, rec); err != nil {
			t.Fatal(err)
		}
	}
	b.restart(other)
	if from, err := b.x.readMark(t.Context(), event.Position{Topic: event.TopicEvents, Offset: b.read}); err != nil || from != 0 {
		t.Errorf("the mark of one log is taken for another: %d, %v", from, err)
	}
}

// TestMirrorOfAnotherLog replaces the log under the mirrors by one that never announced a branch:
// the mirror does not believe any more that it is indexed, and keeps the others.
func TestMirrorOfAnotherLog(t *testing.T) {
	t.Parallel()
	b := newBench(t, "dev*")
	b.x.markEvery = 1
	b.repo.CommitFiles("a", "1\n")
	b.registerRepository()
	b.repo.Git("branch", "dev")
	b.push("dev")
	b.check("main", "dev")
	other, err := embeddedlog.Open(filepath.Join(b.dir, "other"), embeddedlog.Options{Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	for rec, err := range event.ReadRange(t.Context(), b.log, event.TopicEvents, 0, 0, b.read) {
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(rec.Value, []byte("refs/heads/dev")) {
			continue
		}
		if _, err := other.Append(t.Context(), event.TopicEvents, 0, event.Record{Key: rec.Key, Headers: rec.Headers, Value: rec.Value}); err != nil {
			t.Fatal(err)
		}
	}
	b.restart(other)
	first, err := other.Append(t.Context(), event.TopicEvents, 0, b.append(b.pushOf("dev", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.x.Assigned(t.Context(), first[0]); err != nil {
		t.Fatal(err)
	}
	m := b.mirrors.Mirror(b.code.ID)
	indexed, err := m.IndexedRevisions(t.Context())
	if err != nil || len(indexed) != 1 || indexed[0].Ref != "refs/heads/main" || m.AnnouncedDefault() != "refs/heads/main" {
		t.Errorf("the mirror believes that %v are indexed, and that the default branch is %s: %v", indexed, m.AnnouncedDefault(), err)
	}
}

// TestMarkBehindARecordHandledAgain delivers a record older than the mark: the log is
// read from its beginning, because the record may have been overtaken.
func TestMarkBehindARecordHandledAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.x.markEvery = 1
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
	b.restart(b.log)
	b.redeliver(ev, at[0])
	if b.last != nil {
		t.Fatalf("the first push again says %+v", b.last)
	}
	b.redeliver(ev, at[1])
	b.check("main")
}
