package live

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testPartitions = 2

var day = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// world is a log and a process that has applied all of it.
type world struct {
	log eventlog.Log
	now time.Time
	mu  sync.Mutex
	// repositories are registered; work is running, and done has ended.
	repositories map[code.RepositoryID]code.Repository
	work, done   []Work
}

func newWorld(log eventlog.Log) *world {
	return &world{log: log, now: day, repositories: map[code.RepositoryID]code.Repository{1: {ID: 1, Name: "meadow"}, 2: {ID: 2, Name: "hidden"}}}
}

func openEmbedded(t *testing.T) eventlog.Log {
	t.Helper()
	log, err := embeddedlog.Open(t.TempDir(), embeddedlog.Options{Partitions: testPartitions})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log
}

// startFeed runs a feed until stop is called.
func (w *world) startFeed(t *testing.T) (f *Feed, stop func()) {
	t.Helper()
	f, err := New(Options{
		Log: w.log, Secret: []byte("0123456789abcdef0123456789abcdef"), Now: func() time.Time { return w.now },
		AwaitApplied: func(context.Context, event.Position, code.RepositoryID) error { return nil },
		Repository: func(id code.RepositoryID) (code.Repository, bool) {
			w.mu.Lock()
			defer w.mu.Unlock()
			r, ok := w.repositories[id]
			return r, ok
		},
		DeliveryOfPush: func(push event.Position) (event.Position, bool) { return push, push.Offset%2 == 0 },
		Running: func() []Work {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.work
		},
		WorkOn: func(id code.RepositoryID) (Work, bool) {
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, d := range w.done {
				if d.Repository == id {
					return d, true
				}
			}
			return Work{}, false
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return f, stop
}

// append appends events and returns the position of the last one.
func (w *world) append(t *testing.T, events ...event.Event) event.Position {
	t.Helper()
	var at event.Position
	for i, ev := range events {
		rec, err := event.Encode(event.Envelope{ID: fmt.Sprintf("e%d", i), Source: "/test", Time: day}, ev)
		if err != nil {
			t.Fatal(err)
		}
		positions, err := w.log.Append(t.Context(), event.TopicEvents, eventlog.PartitionOf(rec.Key, testPartitions), rec)
		if err != nil {
			t.Fatal(err)
		}
		at = positions[0]
	}
	return at
}

func indexed(id code.RepositoryID, commit string, files int) *event.RevisionIndexed {
	e := &event.RevisionIndexed{
		Repository: id, Ref: "refs/heads/main", Commit: code.CommitID(strings.Repeat(commit, 40)), CommitTime: day,
		Cause: event.Position{Topic: event.TopicEvents, Offset: 1}, PushedAt: day, IndexedAt: day,
	}
	for i := range files {
		e.Changes = append(e.Changes, event.Change{Path: fmt.Sprintf("f%d", i)})
	}
	return e
}

// subscribe waits until the feed follows the log.
func subscribe(t *testing.T, f *Feed, position string) (*Subscription, bool) {
	t.Helper()
	ctx := clocktest.NewContext(t)
	for {
		s, lost, err := f.Subscribe(position)
		if err == nil {
			t.Cleanup(s.Close)
			return s, lost
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}

// read returns the next n notices as text, and the position after the last one.
func read(t *testing.T, s *Subscription, n int) (lines []string, position string) {
	t.Helper()
	ctx := clocktest.NewContext(t)
	for len(lines) < n {
		notice, changed, err := s.Next()
		if err != nil {
			t.Fatalf("after %q: %v", lines, err)
		}
		if notice != nil {
			lines, position = append(lines, describe(notice)), s.Position()
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("%q until the tests have to end, want %d notices", lines, n)
		}
	}
	return lines, position
}

func describe(n *Notice) string {
	switch n.Kind {
	case KindSearchable:
		return fmt.Sprintf("%s %.1s %d", n.Repository.Name, n.Commit, n.Files)
	case KindRepository:
		return n.Repository.Name + " " + n.Change
	case KindWork:
		return fmt.Sprintf("%s %s %d/%d", n.Repository.Name, n.Work.State, n.Work.Files, n.Work.FilesTotal)
	}
	return "delivery " + n.Delivery.Outcome
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFeedOfEitherLog follows a log with each driver, resumes from a position, and
// resumes from it again in a process that was started later.
func TestFeedOfEitherLog(t *testing.T) {
	t.Run("embedded", func(t *testing.T) { followAndResume(t, openEmbedded(t)) })
	t.Run("Kafka", func(t *testing.T) {
		log, err := kafkalog.Open(t.Context(), kafkalog.Options{Brokers: kafkatest.Start(t).Addresses})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = log.Close() })
		if err := log.EnsureTopics(t.Context(), kafkalog.TopicSpec{Topic: event.TopicEvents, Partitions: testPartitions}); err != nil {
			t.Fatal(err)
		}
		followAndResume(t, log)
	})
}

func followAndResume(t *testing.T, log eventlog.Log) {
	w := newWorld(log)
	f, stop := w.startFeed(t)
	s, _ := subscribe(t, f, "")
	w.append(t, indexed(1, "a", 2), indexed(1, "b", 0))
	lines, position := read(t, s, 2)
	wantLines(t, lines, "meadow a 2", "meadow b 0")
	w.append(t, indexed(1, "c", 1), &event.RepositoryChanged{Repository: code.Repository{ID: 1, Kind: code.GenericGitHost, Name: "heath", CloneURL: "https://h.example/heath"}, At: day},
		&event.RepositoryRemoved{Repository: 1, At: day})
	want := []string{"meadow c 1", "heath changed", "meadow removed"}
	lines, _ = read(t, s, 3)
	wantLines(t, lines, want...)
	again, lost := subscribe(t, f, position)
	lines, end := read(t, again, 3)
	wantLines(t, lines, want...)
	if lost {
		t.Error("the position is lost")
	}
	stop()
	if _, _, err := s.Next(); err != ErrClosed { //nolint:errorlint // it is returned as it is
		t.Errorf("a subscription of a feed that has ended: %v, want %v", err, ErrClosed)
	}
	later, _ := w.startFeed(t)
	w.append(t, indexed(1, "d", 0))
	resumed, lost := subscribe(t, later, end)
	lines, _ = read(t, resumed, 1)
	wantLines(t, lines, "meadow d 0")
	if lost {
		t.Error("the position of the process before is lost")
	}
}

// TestDeliveriesComeOnce checks that the notices of one record share one position, after
// the last of them.
func TestDeliveriesComeOnce(t *testing.T) {
	w := newWorld(openEmbedded(t))
	f, _ := w.startFeed(t)
	s, _ := subscribe(t, f, "")
	ev := indexed(1, "a", 0)
	ev.Cause.Offset = 2 // has a delivery
	w.append(t, ev, &event.PushesHandled{Repository: 1, At: day, Pushes: []event.HandledPush{{Offset: 4, Outcome: event.PushUnchanged}, {Offset: 6, Outcome: event.PushAbsent}}})
	lines, position := read(t, s, 1)
	wantLines(t, lines, "delivery indexed")
	if position != "" {
		t.Error("a position between two notices of a record")
	}
	lines, position = read(t, s, 1)
	wantLines(t, lines, "meadow a 0")
	again, _ := subscribe(t, f, position)
	lines, _ = read(t, again, 2)
	wantLines(t, lines, "delivery unchanged", "delivery absent")
}

// TestPositionsSayNothing checks that positions differ even if nothing happened, have one
// length, and are refused if they are modified, old, or from another server.
func TestPositionsSayNothing(t *testing.T) {
	w := newWorld(openEmbedded(t))
	f, _ := w.startFeed(t)
	s, _ := subscribe(t, f, "")
	first, second := s.Position(), s.Position()
	w.append(t, indexed(2, "a", 0), indexed(2, "b", 0))
	read(t, s, 2)
	third := s.Position()
	if first == second || len(first) != len(third) {
		t.Errorf("positions %q, %q, %q: want different ones of one length", first, second, third)
	}
	for i := range first {
		changed := []byte(first)
		changed[i] ^= 1
		if _, lost := subscribe(t, f, string(changed)); !lost {
			t.Errorf("a position with another character at %d is taken", i)
		}
	}
	for _, position := range []string{"x", "é", first[:10], first + "AAAA", strings.Repeat("A", 2*MaxPositionBytes)} {
		if _, lost := subscribe(t, f, position); !lost {
			t.Errorf("%.20q is taken for a position", position)
		}
	}
	if _, lost := subscribe(t, f, third); lost {
		t.Error("a good position is lost")
	}
	w.now = day.Add(maxPositionAge + time.Second)
	if _, lost := subscribe(t, f, third); !lost {
		t.Error("an old position is taken")
	}
}

// TestSlowReaderIsLost checks for an error for a reader that fell behind the ring, and
// for a position before it.
func TestSlowReaderIsLost(t *testing.T) {
	w := newWorld(openEmbedded(t))
	f, _ := w.startFeed(t)
	s, _ := subscribe(t, f, "")
	start := s.Position()
	for offset := range event.Offset(ringNotices) {
		f.add(0, offset+1, &Notice{Kind: KindSearchable, offset: offset})
	}
	if _, lost := subscribe(t, f, start); lost {
		t.Error("a position is lost that the ring reaches back to")
	}
	f.add(0, ringNotices+1, &Notice{Kind: KindSearchable, offset: ringNotices})
	if _, _, err := s.Next(); err != ErrLost { //nolint:errorlint // it is returned as it is
		t.Errorf("a reader behind the ring: %v, want %v", err, ErrLost)
	}
	if _, lost := subscribe(t, f, start); !lost {
		t.Error("a position before the ring is taken")
	}
	if len(f.mu.ring) != ringNotices {
		t.Errorf("the ring has %d notices", len(f.mu.ring))
	}
}

// TestWorkIsShownWhileItRuns checks for one notice for progress, one for the end, and
// none again after a reconnection.
func TestWorkIsShownWhileItRuns(t *testing.T) {
	w := newWorld(openEmbedded(t))
	f, _ := w.startFeed(t)
	s, _ := subscribe(t, f, "")
	position := s.Position()
	w.mu.Lock()
	w.work = []Work{{Repository: 1, State: "importing", Running: true, Files: 3, FilesTotal: 9}}
	w.done = []Work{{Repository: 1, State: "indexed"}}
	w.mu.Unlock()
	lines, _ := read(t, s, 1)
	wantLines(t, lines, "meadow importing 3/9")
	w.mu.Lock()
	w.work = nil
	w.mu.Unlock()
	lines, _ = read(t, s, 1)
	wantLines(t, lines, "meadow indexed 0/0")
	again, _ := subscribe(t, f, position)
	if n, _, err := again.Next(); n != nil || err != nil {
		t.Errorf("after a reconnection: %v, %v", n, err)
	}
}
