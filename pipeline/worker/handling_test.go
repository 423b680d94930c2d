package worker

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// liveLog is a memoryLog that grows while it is read.
type liveLog struct {
	*memoryLog
	more chan event.Record // unbuffered: a sent record has been read
	at   event.Offset
}

func newLiveLog() *liveLog { return &liveLog{memoryLog: &memoryLog{}, more: make(chan event.Record)} }

func (l *liveLog) Next(ctx context.Context) (event.Record, error) {
	select {
	case rec := <-l.more:
		return rec, nil
	case <-ctx.Done():
		return event.Record{}, ctx.Err()
	}
}

// Join implements Log with the Next method of l.
func (l *liveLog) Join(ctx context.Context, _ string, _ event.Topic, handle func(context.Context, eventlog.Assignment) error) error {
	if err := handle(ctx, l); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// add appends records "KEY TEXT".
func (l *liveLog) add(values ...string) {
	for _, v := range values {
		key, _, _ := strings.Cut(v, " ")
		l.more <- event.Record{Key: []byte(key), Value: []byte(v), Position: event.Position{Topic: event.TopicEvents, Offset: l.at}}
		l.at++
	}
}

// startHandling runs a worker on l with the given handler. A value that ends with "
// remove" is a removal.
func startHandling(t *testing.T, l *liveLog, o Options, handle func(ctx context.Context, values []string) (int, error)) (b *batches, w *Worker, stop func()) {
	t.Helper()
	b = &batches{handle: handle}
	o.Log = l
	o.Handler = b
	o.Removes = func(rec event.Record) bool { return strings.HasSuffix(string(rec.Value), " remove") }
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	return b, w, func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the worker gave up: %v", err)
		}
	}
}

// values are the values that a handler received, in any order.
type values struct {
	mu   sync.Mutex
	seen []string
}

func (v *values) add(seen ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen = append(v.seen, seen...)
}

func (v *values) sorted() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Sorted(slices.Values(v.seen))
}

// TestRemovalEndsWhatItsLaneDoes reads a removal while an import of its key hangs, waits
// for a slot, or waits for a retry.
func TestRemovalEndsWhatItsLaneDoes(t *testing.T) {
	for name, begin := range map[string]func(l *liveLog){
		"hangs":                 func(l *liveLog) { l.add("a import", "a push") },
		"waits for a place":     func(l *liveLog) { l.add("b import"); synctest.Wait(); l.add("a import", "a push") },
		"waits between attempt": func(l *liveLog) { l.add("a elsewhere"); synctest.Wait(); l.add("a push") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, seen := newLiveLog(), new(values)
				var cause error
				o := Options{Lanes: 2, Patience: time.Hour, Backoff: time.Hour, MaxBackoff: time.Hour, Stall: 100 * time.Hour, Limit: 1000 * time.Hour,
					Long: func(rec event.Record) bool { return strings.HasSuffix(string(rec.Value), " import") }}
				b, _, stop := startHandling(t, l, o, func(ctx context.Context, values []string) (int, error) {
					switch {
					case strings.HasSuffix(values[0], " import"):
						<-ctx.Done()
						cause = context.Cause(ctx)
						return 1, ctx.Err()
					case strings.HasSuffix(values[0], " elsewhere"):
						return 1, ErrElsewhere
					}
					seen.add(values...)
					return len(values), nil
				})
				begin(l)
				synctest.Wait()
				l.add("c push", "a remove")
				synctest.Wait() // no time passes
				if got, want := seen.sorted(), []string{"a remove", "c push"}; !slices.Equal(got, want) {
					t.Errorf("handled %v, want %v", got, want)
				}
				if len(b.skipped) != 2 || b.skipped[1] != "a push" || len(l.letters) != 0 {
					t.Errorf("skipped %v, %d letters", b.skipped, len(l.letters))
				}
				if name == "hangs" && (!errors.Is(cause, ErrRemoved) || failure.CodeOf(cause) != failure.Removed || l.committed() != l.at) {
					t.Errorf("cause %v, committed %d of %d", cause, l.committed(), l.at)
				}
				l.add("a again", "a remove", "a later")
				synctest.Wait()
				if got := seen.sorted(); !slices.Contains(got, "a later") {
					t.Errorf("after the removal %v", got)
				}
				stop()
			})
		})
	}
}

// TestHandlerThatIgnoresItsContextIsAbandoned runs a handler that returns only when the
// test lets it. Options.Name hangs as well, as on a disk that does not respond.
func TestHandlerThatIgnoresItsContextIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, seen, let := newLiveLog(), new(values), make(chan struct{})
		name := func(event.Record) string { <-let; return "a" }
		_, w, stop := startHandling(t, l, Options{Lanes: 1, Stall: time.Minute, Name: name}, func(_ context.Context, values []string) (int, error) {
			if values[0] == "a hang" {
				<-let
			}
			seen.add(values...)
			return len(values), nil
		})
		l.add("a hang")
		synctest.Wait() // otherwise the removal may skip an event that is not being handled yet
		l.add("a remove", "b push")
		_ = clock.Sleep(t.Context(), maxGrace+maxNameWait+time.Second)
		if got, want := seen.sorted(), []string{"a remove", "b push"}; !slices.Equal(got, want) || l.committed() != 3 {
			t.Errorf("handled %v, committed %d", got, l.committed())
		}
		if n := testutil.ToFloat64(w.metrics.hanging); n != 1 {
			t.Errorf("%v lanes hang, want 1", n)
		}
		// No other call for the key begins, because each event would leave one more
		// abandoned call.
		l.add("a push")
		synctest.Wait()
		if len(l.letters) != 1 || event.ReadLetter(l.letters[0]).Code != failure.Timeout || slices.Contains(seen.sorted(), "a push") {
			t.Errorf("letters %v, handled %v", l.letters, seen.sorted())
		}
		close(let)
		synctest.Wait()
		l.add("a second")
		synctest.Wait()
		if n := testutil.ToFloat64(w.metrics.hanging); n != 0 || !slices.Contains(seen.sorted(), "a second") {
			t.Errorf("%v lanes hang after it returned; handled %v", n, seen.sorted())
		}
		stop()
	})
}

// TestHandlingIsBounded runs one call without progress, one that reports progress and
// takes long, and one that reports progress forever.
func TestHandlingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, seen := newLiveLog(), new(values)
		_, w, stop := startHandling(t, l, Options{Lanes: 2, Stall: time.Minute, Limit: time.Hour}, func(ctx context.Context, values []string) (int, error) {
			ends := map[string]time.Duration{"a hang": 1000 * time.Hour, "b long": 50 * time.Minute, "c endless": 1000 * time.Hour}[values[0]]
			for began := time.Now(); time.Since(began) < ends; {
				wait := 1000 * time.Hour
				if values[0] != "a hang" {
					wait = 30 * time.Second
				}
				if clock.Sleep(ctx, wait) != nil {
					return 1, ctx.Err()
				}
				ReportProgress(ctx)
			}
			seen.add(values...)
			return len(values), nil
		})
		l.add("a hang", "b long")
		_ = clock.Sleep(t.Context(), time.Second)
		l.add("a push", "d push")
		_ = clock.Sleep(t.Context(), 2*time.Minute)
		if got, want := seen.sorted(), []string{"a push", "d push"}; !slices.Equal(got, want) {
			t.Errorf("after two minutes %v were handled, want %v", got, want)
		}
		if len(l.letters) != 1 || string(l.letters[0].Value) != "a hang" || event.ReadLetter(l.letters[0]).Code != failure.Timeout {
			t.Errorf("letters %q", l.letters)
		}
		if n := testutil.ToFloat64(w.metrics.timeouts); n != 1 {
			t.Errorf("%v timeouts, want 1", n)
		}
		if longest := w.longestCall(); longest < 2*time.Minute {
			t.Errorf("the longest takes %s", longest)
		}
		_ = clock.Sleep(t.Context(), time.Hour)
		if !slices.Contains(seen.sorted(), "b long") || l.committed() != 4 {
			t.Errorf("what reports progress was not let go on: %v, committed %d", seen.sorted(), l.committed())
		}
		l.add("c endless")
		_ = clock.Sleep(t.Context(), time.Hour+time.Minute)
		if len(l.letters) != 2 || string(l.letters[1].Value) != "c endless" {
			t.Errorf("letters %q", l.letters)
		}
		stop()
	})
}

// TestDrainNamesWhatIsNotFinished stops a worker while two calls hang: one ends with its
// context, the other never ends.
func TestDrainNamesWhatIsNotFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l, let := newLiveLog(), make(chan struct{})
		defer close(let)
		o := Options{Lanes: 4, Drain: 10 * time.Second, Logger: slog.New(slog.NewTextHandler(&out, nil)),
			Name: func(rec event.Record) string { return "github.com/meadow/" + string(rec.Key) }}
		_, _, stop := startHandling(t, l, o, func(ctx context.Context, values []string) (int, error) {
			switch values[0] {
			case "b hang":
				<-ctx.Done()
				return 1, ctx.Err()
			case "c hang":
				<-let
			}
			return len(values), nil
		})
		l.add("a push", "c hang", "b hang", "d push")
		_ = clock.Sleep(t.Context(), time.Minute)
		began := time.Now()
		stop()
		if took := time.Since(began); took > o.Drain+maxGrace {
			t.Errorf("it stopped after %s", took)
		}
		for _, key := range []string{"b", "c"} {
			if !strings.Contains(out.String(), "repository=github.com/meadow/"+key) {
				t.Errorf("the log does not name %s:\n%s", key, &out)
			}
		}
		if !strings.Contains(out.String(), "seconds=70") || strings.Contains(out.String(), "meadow/a") || l.committed() != 1 || len(l.letters) != 0 {
			t.Errorf("committed %d, %d letters:\n%s", l.committed(), len(l.letters), &out)
		}
	})
}
