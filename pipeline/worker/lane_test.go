package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/event"
)

// keyedLog returns a log of records "KEY NUMBER", and "--" for one that is not wanted.
func keyedLog(keys string) *memoryLog {
	l := &memoryLog{}
	for i, k := range strings.Fields(keys) {
		rec := event.Record{Key: []byte(k), Value: fmt.Appendf(nil, "%s %d", k, i), Position: event.Position{Topic: event.TopicEvents, Offset: event.Offset(i)}}
		if k == "--" {
			rec.Key, rec.Value = nil, []byte("skip")
		}
		l.records = append(l.records, rec)
	}
	return l
}

// batches is a handler that records the batches it receives, as values of their records.
type batches struct {
	handle   func(ctx context.Context, values []string) (int, error)
	assigned func(first event.Position) error

	mu        sync.Mutex
	committed []event.Offset
	skipped   []string
}

func (b *batches) Assigned(_ context.Context, first event.Position) error {
	if b.assigned == nil {
		return nil
	}
	return b.assigned(first)
}

func (b *batches) Skip(_ context.Context, records []event.Record) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range records {
		b.skipped = append(b.skipped, string(records[i].Value))
	}
	return len(records), nil
}

func (b *batches) Wants(rec event.Record) bool { return string(rec.Value) != "skip" }

func (b *batches) Committed(rec event.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.committed = append(b.committed, rec.Position.Offset)
}

func (b *batches) Handle(ctx context.Context, records []event.Record) (int, error) {
	values := make([]string, len(records))
	for i := range records {
		values[i] = string(records[i].Value)
	}
	return b.handle(ctx, values)
}

// start runs a worker in a bubble until stop is called, which waits for its end.
func start(t *testing.T, o Options) (w *Worker, stop func()) {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := w.Run(ctx); err != nil {
			t.Errorf("the worker gave up: %v", err)
		}
	}()
	return w, func() { cancel(); <-done }
}

func (l *memoryLog) committed() event.Offset {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next
}

func TestSlowKeyDoesNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := keyedLog("a slow b -- a slow c b")
		let := make(chan struct{})
		var mu sync.Mutex
		var seen []string
		_, stop := start(t, Options{Log: l, Lanes: 3, Handler: &batches{handle: func(_ context.Context, values []string) (int, error) {
			if values[0] == "slow 1" {
				<-let
			}
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, values...)
			return len(values), nil
		}}})
		_ = clock.Sleep(t.Context(), time.Minute)
		slices.Sort(seen)
		if want := []string{"a 0", "a 4", "b 2", "b 7", "c 6"}; !slices.Equal(seen, want) || l.committed() != 1 {
			t.Errorf("during the slow one %v were handled, want %v; committed %d, want 1", seen, want, l.committed())
		}
		seen = nil
		close(let)
		_ = clock.Sleep(t.Context(), time.Minute)
		if !slices.Equal(seen, []string{"slow 1", "slow 5"}) || l.committed() != 8 {
			t.Errorf("then %v, committed %d", seen, l.committed())
		}
		stop()
	})
}

// TestTheWindowIsBounded handles one record that never ends: other records continue until
// the window or the span is full, and not beyond.
func TestTheWindowIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const span = 40
		l := keyedLog("slow " + strings.Repeat("x -- ", 100))
		let := make(chan struct{})
		var done int
		w, _ := New(Options{Log: l, Lanes: 2, Logger: slog.New(slog.DiscardHandler), Handler: &batches{handle: func(_ context.Context, values []string) (int, error) {
			if values[0] == "slow 0" {
				<-let
			} else {
				done += len(values)
			}
			return len(values), nil
		}}})
		p := &partition{w: w, a: l, window: newWindow(nil)}
		p.window.maxSpan = span
		w.addPartition(p)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- p.run(ctx) }()
		synctest.Wait()
		w.updateGauges(ctx)
		if f := p.window.fillLevel(); done != span/2 || !f.full || f.records != 1 || f.low != 0 {
			t.Errorf("%d done during the slow one, want %d; %+v", done, span/2, f)
		}
		close(let)
		synctest.Wait()
		if f := p.window.fillLevel(); done != 100 || f.full || f.records != 0 || f.bytes != 0 || f.low != 201 {
			t.Errorf("%d done, want 100; %+v", done, f)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestTheWindowHoldsSoManyRecordsAndBytes(t *testing.T) {
	rec := func(offset event.Offset, size int) event.Record {
		return event.Record{Value: make([]byte, size), Position: event.Position{Offset: offset}}
	}
	for _, c := range []struct {
		name          string
		size, records int
	}{{"records", 1, 10}, {"bytes", 30, 4}, {"one is always taken", 1000, 1}} {
		w := newWindow(nil)
		w.maxRecords, w.maxBytes = 10, 120
		n := 0
		for ok := true; ok; n++ {
			_, ok = w.tryAdd(rec(event.Offset(n), c.size), true)
		}
		if n-1 != c.records {
			t.Errorf("%s: %d records have room, want %d", c.name, n-1, c.records)
		}
	}
}

// TestWaitingRecordsFormOneBatch blocks a key: the records that arrive in the meantime
// form one batch, up to the bound.
func TestWaitingRecordsFormOneBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := keyedLog("a a b a a a a a")
		var sizes []int
		_, stop := start(t, Options{Log: l, Lanes: 1, Batch: 4, Handler: &batches{handle: func(ctx context.Context, values []string) (int, error) {
			if values[0][0] == 'a' {
				sizes = append(sizes, len(values))
			}
			_ = clock.Sleep(ctx, time.Second)
			return len(values), nil
		}}})
		_ = clock.Sleep(t.Context(), time.Minute)
		if sum := sizes[0] + sizes[1]; len(sizes) > 3 || sum > 7 || slices.Max(sizes) != 4 || l.committed() != 8 {
			t.Errorf("batches of %v, committed %d", sizes, l.committed())
		}
		stop()
	})
}

// TestOneBadRecordOfABatchIsGivenUpAlone fails a whole batch because of one of its
// records.
func TestOneBadRecordOfABatchIsGivenUpAlone(t *testing.T) {
	for _, permanent := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			l := keyedLog("a a a a a a")
			var done []string
			calls := 0
			_, stop := start(t, Options{Log: l, Handler: &batches{handle: func(_ context.Context, values []string) (int, error) {
				calls++
				for _, v := range values {
					if v == "a 3" && permanent {
						return len(values), fmt.Errorf("%w: %s", ErrPermanent, v)
					} else if v == "a 3" {
						return len(values), errors.New(v)
					}
				}
				done = append(done, values...)
				return len(values), nil
			}}})
			_ = clock.Sleep(t.Context(), time.Hour)
			stop()
			if want := []string{"a 0", "a 1", "a 2", "a 4", "a 5"}; !slices.Equal(done, want) || l.committed() != 6 {
				t.Errorf("%v were handled, want %v; committed %d", done, want, l.committed())
			}
			if len(l.letters) != 1 || string(l.letters[0].Value) != "a 3" || string(l.letters[0].Key) != "a" {
				t.Errorf("dead letters %v", l.letters)
			}
			if calls > 5+6 {
				t.Errorf("%d calls", calls)
			}
		})
	}
}

// TestBackoffReleasesTheSlot runs with one slot and a key whose attempts all fail.
func TestBackoffReleasesTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := keyedLog("bad a b a")
		begun := time.Now()
		var last time.Duration
		_, stop := start(t, Options{Log: l, Lanes: 1, Backoff: time.Minute, Handler: &batches{handle: func(_ context.Context, values []string) (int, error) {
			if values[0] == "bad 0" {
				return 1, errors.New("no luck")
			}
			last = time.Since(begun)
			return len(values), nil
		}}})
		_ = clock.Sleep(t.Context(), 24*time.Hour)
		stop()
		if last != 0 || len(l.letters) != 1 || l.committed() != 4 {
			t.Errorf("others were handled after %v, %d letters, committed %d", last, len(l.letters), l.committed())
		}
	})
}

// TestLongTasksUseHalfOfTheSlots starts with imports that do not end.
func TestLongTasksUseHalfOfTheSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := keyedLog("long1 long2 long3 a b long1 a")
		let := make(chan struct{})
		var mu sync.Mutex
		running, most, done := 0, 0, 0
		_, stop := start(t, Options{
			Log: l, Lanes: 4, Long: func(rec event.Record) bool { return strings.HasPrefix(string(rec.Key), "long") },
			Handler: &batches{handle: func(_ context.Context, values []string) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				if strings.HasPrefix(values[0], "long") {
					running++
					most = max(most, running)
					mu.Unlock()
					<-let
					mu.Lock()
					running--
				}
				done += len(values)
				return len(values), nil
			}},
		})
		_ = clock.Sleep(t.Context(), time.Minute)
		if done != 3 || running != 2 {
			t.Errorf("%d are done during %d long ones, want 3 during 2", done, running)
		}
		close(let)
		_ = clock.Sleep(t.Context(), time.Minute)
		stop()
		if done != 7 || most != 2 || l.committed() != 7 {
			t.Errorf("%d are done, at most %d long ones at once, committed %d", done, most, l.committed())
		}
	})
}

// TestUnavailableHoldsBackEveryKey fails as on a full disk: no other key is tried before
// the wait is over.
func TestUnavailableHoldsBackEveryKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := keyedLog("a b c d e f")
		begun, calls := time.Now(), 0
		_, stop := start(t, Options{Log: l, Lanes: 1, Backoff: time.Second, MaxBackoff: time.Minute, Handler: &batches{handle: func(_ context.Context, values []string) (int, error) {
			calls++
			if time.Since(begun) < time.Hour {
				return 1, ErrUnavailable
			}
			return len(values), nil
		}}})
		_ = clock.Sleep(t.Context(), 2*time.Hour)
		stop()
		if calls < 60 || calls > 400 || l.committed() != 6 || len(l.letters) != 0 {
			t.Errorf("%d calls in an hour, committed %d, %d letters", calls, l.committed(), len(l.letters))
		}
	})
}

// TestAssignedComesFirst makes Assigned fail twice.
func TestAssignedComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := keyedLog("-- a b")
		tries := 0
		h := &batches{
			assigned: func(first event.Position) error {
				if tries++; first.Offset != 0 || tries < 3 {
					return errors.New("not yet")
				}
				return nil
			},
		}
		h.handle = func(_ context.Context, values []string) (int, error) {
			if tries < 3 {
				t.Errorf("%v came before the partition was taken over", values)
			}
			return len(values), nil
		}
		_, stop := start(t, Options{Log: l, Handler: h})
		_ = clock.Sleep(t.Context(), time.Hour)
		stop()
		if l.committed() != 3 || len(h.committed) == 0 || h.committed[len(h.committed)-1] != 2 {
			t.Errorf("committed %d, the handler was notified of %v", l.committed(), h.committed)
		}
	})
}

// TestStopCommitsWhatIsDone stops a worker with one key whose call ends in time, one
// whose call does not, and one that has not begun.
func TestStopCommitsWhatIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := keyedLog("quick slow late")
		var stopping atomic.Bool
		_, stop := start(t, Options{Log: l, Lanes: 2, Batch: 1, Drain: 10 * time.Second, Handler: &batches{handle: func(ctx context.Context, values []string) (int, error) {
			wait := map[string]time.Duration{"quick 0": 5 * time.Second, "slow 1": time.Hour}[values[0]]
			if stopping.Load() {
				t.Error("a batch began after the stop")
			}
			if clock.Sleep(ctx, wait) != nil {
				return 1, ctx.Err()
			}
			return 1, nil
		}}})
		_ = clock.Sleep(t.Context(), time.Second)
		begun := time.Now()
		stopping.Store(true)
		stop()
		if took := time.Since(begun); took != 10*time.Second || l.committed() != 1 || len(l.letters) != 0 {
			t.Errorf("it took %v, committed %d, %d letters", took, l.committed(), len(l.letters))
		}
	})
}

// pressure is a lag of the projections that the test sets.
type pressure struct {
	mu     sync.Mutex
	behind int64
}

func (p *pressure) set(behind int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.behind = behind
}

func (p *pressure) Behind(context.Context) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.behind, nil
}

func TestPressureHoldsBackNewBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := keyedLog(strings.Repeat("a b ", 50))
		push := &pressure{behind: 101}
		done := 0
		_, stop := start(t, Options{Log: l, Lanes: 1, Batch: 1, Pressure: push, MaxAhead: 100, Handler: &batches{handle: func(ctx context.Context, _ []string) (int, error) {
			_ = clock.Sleep(ctx, 100*time.Millisecond)
			done++
			return 1, nil
		}}})
		for _, step := range []struct {
			behind   int64
			from, to int // range of records done after a minute
		}{{101, 0, 1}, {60, 0, 1}, {50, 100, 100}} {
			push.set(step.behind)
			_ = clock.Sleep(t.Context(), time.Minute)
			if done < step.from || done > step.to {
				t.Errorf("at %d records behind %d are done, want %d to %d", step.behind, done, step.from, step.to)
			}
		}
		stop()
	})
}

// TestLanesAgainstAModel runs workers over a log with failures of every kind, and stops
// and restarts them. The committed offset never passes a record that is not done, each
// key keeps its order, and at the end each record was handled or is a dead letter.
func TestLanesAgainstAModel(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) { againstModel(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func againstModel(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	keys := []string{"a", "b", "c", "d", "--"}
	var text strings.Builder
	for range 300 {
		text.WriteString(keys[rng.IntN(len(keys))] + " ")
	}
	l := keyedLog(text.String())
	m := &model{t: t, rng: rng, log: l, last: map[string]int{}, busy: map[string]bool{}, done: map[string]bool{}}
	for l.committed() < event.Offset(len(l.records)) {
		m.last = map[string]int{}
		lasts := time.Duration(rng.IntN(20_000)) * time.Millisecond
		_, stop := start(t, Options{Log: l, Lanes: 1 + rng.IntN(4), Batch: 1 + rng.IntN(8), Attempts: 3, Drain: time.Second, Handler: &batches{handle: m.handle}})
		_ = clock.Sleep(t.Context(), lasts)
		stop()
		m.check()
	}
	for _, rec := range l.records {
		if v := string(rec.Value); v != "skip" && !m.done[v] {
			t.Errorf("%s was lost", v)
		}
	}
}

// model is a handler that fails in every way and checks the invariants.
type model struct {
	t   *testing.T
	rng *rand.Rand
	log *memoryLog

	mu   sync.Mutex
	last map[string]int // by key, the last record passed in this run
	busy map[string]bool
	done map[string]bool
}

func (m *model) handle(ctx context.Context, values []string) (int, error) {
	var key string
	var first int
	_, _ = fmt.Sscanf(values[0], "%s %d", &key, &first)
	m.mu.Lock()
	if m.busy[key] || first < m.last[key] {
		m.t.Errorf("%v came while %s was busy, or after %d", values, key, m.last[key])
	}
	m.busy[key], m.last[key] = true, first
	n, dice, takes := 1+m.rng.IntN(len(values)), m.rng.IntN(20), time.Duration(m.rng.IntN(1500))*time.Millisecond
	m.mu.Unlock()
	ended := clock.Sleep(ctx, takes) != nil
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy[key] = false
	switch {
	case ended:
		return n, ctx.Err()
	case dice == 0:
		return n, ErrUnavailable
	case dice == 1:
		return n, fmt.Errorf("%w: dice", ErrPermanent)
	case dice < 5:
		return n, errors.New("dice")
	case dice == 5:
		panic("dice")
	}
	for _, v := range values[:n] {
		m.done[v] = true
	}
	return n, nil
}

// check compares the committed offset with the records that are done.
func (m *model) check() {
	for _, letter := range m.log.letters {
		m.done[string(letter.Value)] = true
	}
	for _, rec := range m.log.records[:m.log.committed()] {
		if v := string(rec.Value); v != "skip" && !m.done[v] {
			m.t.Errorf("%d is committed, %s is not done", m.log.committed(), v)
		}
	}
}
