package worker

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memoryLog is a single partition of records, enough to drive a worker while time passes
// only in the worker.
type memoryLog struct {
	records []event.Record
	mu      sync.Mutex
	read    event.Offset // next offset to hand out
	next    event.Offset // committed offset
	letters []event.Record
	refuse  int // number of appends to refuse first
}

func (l *memoryLog) Join(ctx context.Context, _ string, _ event.Topic, handle func(context.Context, eventlog.Assignment) error) error {
	l.read = l.next
	if err := handle(ctx, l); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func (l *memoryLog) Append(_ context.Context, topic event.Topic, _ int32, records ...event.Record) ([]event.Position, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuse > 0 {
		l.refuse--
		return nil, eventlog.ErrFull
	}
	if topic == event.TopicDeadLetters {
		l.letters = append(l.letters, records...)
	}
	return make([]event.Position, len(records)), nil
}

func (l *memoryLog) HighWater(context.Context, event.Topic) ([]event.Offset, error) {
	return []event.Offset{event.Offset(len(l.records))}, nil
}

func (l *memoryLog) Committed(context.Context, string, event.Topic) ([]event.Offset, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return []event.Offset{l.next}, nil
}

func (l *memoryLog) Next(ctx context.Context) (event.Record, error) {
	if at := l.read; int(at) < len(l.records) {
		l.read++
		return l.records[at], nil
	}
	<-ctx.Done()
	return event.Record{}, ctx.Err()
}

func (l *memoryLog) Close() error     { return nil }
func (l *memoryLog) Partition() int32 { return 0 }
func (l *memoryLog) Commit(_ context.Context, next event.Offset) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = next
	return nil
}

// handlerFunc handles every record that is not named "skip".
type handlerFunc func(ctx context.Context, value string) error

func (f handlerFunc) Assigned(context.Context, event.Position) error { return nil }
func (f handlerFunc) Committed(event.Record)                         {}
func (f handlerFunc) Skip(_ context.Context, records []event.Record) (int, error) {
	return len(records), nil
}
func (f handlerFunc) Wants(rec event.Record) bool { return string(rec.Value) != "skip" }
func (f handlerFunc) Handle(ctx context.Context, records []event.Record) (int, error) {
	return 1, f(ctx, string(records[0].Value))
}

func logOf(values ...string) *memoryLog {
	l := &memoryLog{}
	for i, v := range values {
		l.records = append(l.records, event.Record{Value: []byte(v), Position: event.Position{Topic: event.TopicEvents, Offset: event.Offset(i)}})
	}
	return l
}

// runUntil runs a worker until its partition has been idle for an hour.
func runUntil(t *testing.T, l *memoryLog, h handlerFunc) {
	t.Helper()
	w, err := New(Options{Log: l, Handler: h, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestRecordsAreHandledInOrderAndCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := logOf("a", "skip", "b", "c")
		var seen []string
		runUntil(t, l, func(_ context.Context, v string) error { seen = append(seen, v); return nil })
		if !slices.Equal(seen, []string{"a", "b", "c"}) || l.next != 4 {
			t.Fatalf("handled %v, committed %d", seen, l.next)
		}
	})
}

// TestDeletedRecordsAreNotSkipped reads a log whose first records were deleted before the group has
// handled them: it handles nothing until an operator sets the offset of the group.
func TestDeletedRecordsAreNotSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := logOf("c", "d")
		for i := range l.records {
			l.records[i].Position.Offset += 2
		}
		var seen []string
		handle := func(_ context.Context, v string) error { seen = append(seen, v); return nil }
		runUntil(t, l, handle)
		if len(seen) > 0 || l.next != 0 {
			t.Fatalf("handled %v, committed %d", seen, l.next)
		}
		l.records[0].Position.Offset, l.records[1].Position.Offset = 1, 2
		l.next, l.read = 1, 0
		l.records = append([]event.Record{{}}, l.records...)
		runUntil(t, l, handle)
		if !slices.Equal(seen, []string{"c", "d"}) || l.next != 3 {
			t.Errorf("with an offset, handled %v, committed %d", seen, l.next)
		}
	})
}

func TestTransientFailureIsTriedAgainThenBuried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := logOf("flaky", "broken", "after")
		l.refuse = 3 // the dead letter is not lost when the log refuses it
		tries := map[string]int{}
		runUntil(t, l, func(_ context.Context, v string) error {
			tries[v]++
			if v == "flaky" && tries[v] < 3 || v == "broken" {
				return errors.New("no luck")
			}
			return nil
		})
		if tries["flaky"] != 3 || tries["broken"] != 5 || tries["after"] != 1 || l.next != 3 {
			t.Fatalf("tries %v, committed %d", tries, l.next)
		}
		if len(l.letters) != 1 || string(l.letters[0].Value) != "broken" || header(l.letters[0], event.HeaderDeadReason) != "no luck" ||
			header(l.letters[0], event.HeaderDeadPosition) != "quarry.events/0/1" || header(l.letters[0], event.HeaderDeadAttempts) != "5" {
			t.Fatalf("dead letters %v", l.letters)
		}
	})
}

func header(rec event.Record, name string) string {
	for _, h := range rec.Headers {
		if h.Name == name {
			return string(h.Value)
		}
	}
	return ""
}

func TestPermanentFailureAndPanicAreBuriedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := logOf("bad", "panics", "after")
		tries := map[string]int{}
		runUntil(t, l, func(_ context.Context, v string) error {
			tries[v]++
			switch v {
			case "bad":
				return errors.Join(ErrPermanent, errors.New("gone"))
			case "panics":
				panic("broken extractor")
			}
			return nil
		})
		if tries["bad"] != 1 || tries["after"] != 1 || len(l.letters) != 2 || l.next != 3 || !strings.Contains(header(l.letters[1], event.HeaderDeadReason), "broken extractor") {
			t.Fatalf("tries %v, letters %v, committed %d", tries, l.letters, l.next)
		}
	})
}

func TestUnavailableWaitsWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := logOf("a")
		tries := 0
		runUntil(t, l, func(context.Context, string) error {
			if tries++; tries < 40 {
				return errors.Join(ErrUnavailable, errors.New("disk full"))
			}
			return nil
		})
		if tries != 40 || len(l.letters) != 0 || l.next != 1 {
			t.Fatalf("%d tries, %d letters, committed %d", tries, len(l.letters), l.next)
		}
	})
}

func TestDrainLetsTheRecordInHandEnd(t *testing.T) {
	for _, c := range []struct {
		takes     time.Duration
		committed event.Offset
	}{{10 * time.Second, 1}, {time.Hour, 0}} {
		synctest.Test(t, func(t *testing.T) {
			l := logOf("slow", "never")
			ctx, cancel := context.WithCancel(t.Context())
			w, _ := New(Options{Log: l, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Handler: handlerFunc(func(ctx context.Context, v string) error {
				cancel()
				if clock.Sleep(ctx, c.takes) != nil {
					return ctx.Err()
				}
				return nil
			})})
			if err := w.Run(ctx); err != nil || l.next != c.committed || len(l.letters) != 0 {
				t.Fatalf("a record of %v: committed %d, %d letters: %v", c.takes, l.next, len(l.letters), err)
			}
		})
	}
}
