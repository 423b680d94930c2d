package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/seedtest"
)

// TestRebalancingWhileBusyOnEmbeddedLog runs members in one process.
func TestRebalancingWhileBusyOnEmbeddedLog(t *testing.T) {
	log, err := embeddedlog.Open(filepath.Join(t.TempDir(), "log"), embeddedlog.Options{Partitions: 6})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	runRebalance(t, func() eventlog.Log { return log })
}

// TestRebalancingWhileBusyOnKafka runs members that share only a broker.
func TestRebalancingWhileBusyOnKafka(t *testing.T) {
	broker := kafkatest.Start(t)
	runRebalance(t, func() eventlog.Log {
		log, err := kafkalog.Open(t.Context(), kafkalog.Options{
			Brokers: broker.Addresses,
			// A member that is not scheduled for a while must not lose its partitions.
			SessionTimeout: 10 * time.Minute, RebalanceTimeout: 10 * time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = log.Close() })
		for _, topic := range []event.Topic{event.TopicEvents, event.TopicDeadLetters} {
			if err := log.EnsureTopics(t.Context(), kafkalog.TopicSpec{Topic: topic, Partitions: 6}); err != nil {
				t.Fatal(err)
			}
		}
		return log
	})
}

const (
	rebalanceKeys    = 60
	rebalanceRecords = 1500
	rebalanceDrain   = time.Second
)

// runRebalance makes workers join and leave while records are handled, some of them
// slowly, and compares their effects with the log.
//
// Each change waits until every worker that is there has handled a record since, so that the
// partitions have moved before the next one.
func runRebalance(t *testing.T, open func() eventlog.Log) {
	seed := seedtest.ChooseSeed(t)
	e := &effects{t: t, rng: rand.New(rand.NewPCG(seed, 3)), numbers: map[string]int{}, done: map[string]int{}, busy: map[string]string{}, handled: map[string]int{}}
	log := open()
	e.append(log, rebalanceRecords/2)
	var names []string
	var stops []func()
	for n, joins := range []bool{true, true, true, false, true, false} {
		if joins {
			name := fmt.Sprint("worker ", n)
			names, stops = append(names, name), append(stops, e.join(name, open()))
		} else {
			stops[0]()
			names, stops = names[1:], stops[1:]
		}
		e.append(log, rebalanceRecords/14)
		e.awaitEach(log, names)
	}
	e.await(log)
	for _, stop := range stops {
		stop()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for key, n := range e.numbers {
		if e.done[key] != n {
			t.Errorf("%s: %d of %d records had an effect", key, e.done[key], n)
		}
	}
	t.Logf("%d records were handled again, %d were cut short", e.repeated, e.cut)
}

// effects is a handler shared by all workers. Each record takes effect once, by its
// number, even if another worker handles it again.
type effects struct {
	t       *testing.T
	mu      sync.Mutex
	rng     *rand.Rand
	numbers map[string]int // records appended, by key
	done    map[string]int // records that took effect, by key: a contiguous run from the first
	busy    map[string]string
	handled map[string]int // calls of Handle that returned without an error, by worker
	// repeated counts records that were handled again; cut counts those whose context
	// ended.
	repeated, cut int
}

// append appends records "KEY NUMBER".
func (e *effects) append(log eventlog.Log, n int) {
	e.t.Helper()
	records := make([]event.Record, n)
	e.mu.Lock()
	for i := range records {
		key := fmt.Sprint("key", e.rng.IntN(rebalanceKeys))
		records[i] = event.Record{Key: []byte(key), Value: fmt.Appendf(nil, "%d", e.numbers[key])}
		e.numbers[key]++
	}
	e.mu.Unlock()
	if _, err := log.Append(e.t.Context(), event.TopicEvents, eventlog.AnyPartition, records...); err != nil {
		e.t.Fatal(err)
	}
}

// join starts a worker; the returned function stops it.
func (e *effects) join(name string, log eventlog.Log) (stop func()) {
	e.t.Helper()
	w, err := worker.New(worker.Options{
		Log: log, Handler: member{e, name}, Lanes: 4, Batch: 5, Drain: rebalanceDrain, Backoff: 10 * time.Millisecond, Attempts: 1000,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		e.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			e.t.Errorf("%s: %v", name, err)
		}
	}
}

// awaitEach appends records until each of the workers has handled some of them.
func (e *effects) awaitEach(log eventlog.Log, workers []string) {
	e.t.Helper()
	e.mu.Lock()
	clear(e.handled)
	e.mu.Unlock()
	for ctx := clocktest.NewContext(e.t); ; e.append(log, 10) {
		e.mu.Lock()
		idle := slices.IndexFunc(workers, func(name string) bool { return e.handled[name] == 0 })
		e.mu.Unlock()
		if idle < 0 {
			return
		}
		if clock.Sleep(ctx, 50*time.Millisecond) != nil {
			e.t.Fatalf("%s handles nothing", workers[idle])
		}
	}
}

// await returns when all records are committed.
func (e *effects) await(log eventlog.Log) {
	e.t.Helper()
	ctx := clocktest.NewContext(e.t)
	for {
		high, err := log.HighWater(ctx, event.TopicEvents)
		if err != nil {
			e.t.Fatal(err)
		}
		committed, err := log.Committed(ctx, "quarry-workers", event.TopicEvents)
		if err != nil {
			e.t.Fatal(err)
		}
		left := event.Offset(0)
		for p := range high {
			left += high[p] - committed[p]
		}
		if left == 0 {
			return
		}
		if clock.Sleep(ctx, 50*time.Millisecond) != nil {
			e.t.Fatalf("%d records are left", left)
		}
	}
}

// member is the handler of one worker; it applies records to effects.
type member struct {
	*effects
	name string
}

func (member) Assigned(context.Context, event.Position) error { return nil }
func (member) Skip(_ context.Context, records []event.Record) (int, error) {
	return len(records), nil
}
func (member) Wants(event.Record) bool { return true }
func (member) Committed(event.Record)  {}

func (m member) Handle(ctx context.Context, records []event.Record) (int, error) {
	key := string(records[0].Key)
	m.mu.Lock()
	if by := m.busy[key]; by != "" {
		m.t.Errorf("%s handles %s while %s does", m.name, key, by)
	}
	m.busy[key] = m.name
	takes := time.Duration(m.rng.IntN(10)) * time.Millisecond
	switch dice := m.rng.IntN(200); dice {
	case 0:
		takes = rebalanceDrain / 2 // ends within the drain
	case 1:
		takes = 2 * rebalanceDrain // may not end within the drain
	}
	fails := m.rng.IntN(50) == 0
	m.mu.Unlock()
	ended := clock.Sleep(ctx, takes) != nil
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy[key] = ""
	if ended {
		m.cut++
		return len(records), ctx.Err()
	}
	if fails {
		return len(records), errors.New("dice")
	}
	for _, rec := range records {
		m.applyRecord(key, rec)
	}
	m.handled[m.name]++
	return len(records), nil
}

// applyRecord applies a record unless it has already been applied.
func (m member) applyRecord(key string, rec event.Record) {
	var number int
	_, _ = fmt.Sscan(string(rec.Value), &number)
	switch done := m.done[key]; {
	case number < done:
		m.repeated++
	case number > done:
		m.t.Errorf("%s: %d comes before %d", key, number, done)
	default:
		m.done[key]++
	}
}
