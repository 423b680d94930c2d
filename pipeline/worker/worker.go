package worker

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// DefaultGroup is the consumer group of the workers of an installation.
const DefaultGroup = "quarry-workers"

// Log is the part of an event log that a Worker uses.
type Log interface {
	eventlog.Joiner
	Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error)
	GroupOffsets
}

// Options configures a Worker. Log and Handler are required.
type Options struct {
	Log     Log
	Handler Handler
	// Group is the consumer group; default DefaultGroup.
	Group string
	// Topic is the topic that the group reads; default event.TopicEvents.
	Topic event.Topic
	// Lanes bounds the batches that are handled at the same time, over all partitions.
	// The default is twice the number of processors, because fetches wait for the
	// network.
	Lanes int
	// Long reports whether a record takes long to handle, as an import does. Long records
	// may use half of the lanes, so that the other records do not wait for them. Nil
	// means that no record is long.
	Long func(rec event.Record) bool
	// Removes reports whether a record makes the earlier records of its lane pointless,
	// as the removal of a repository does. Nil means that no record does.
	Removes func(rec event.Record) bool
	// Name returns the name of a record's repository, for log messages; may be nil.
	Name func(rec event.Record) string
	// Stall is how long a call of the handler may take without reporting progress
	// (ReportProgress); Limit is how long it may take in total. A call that takes longer
	// is canceled, and its records become dead letters. The defaults are 45 minutes and
	// 24 hours.
	Stall, Limit time.Duration
	// Batch bounds the records of a key that are handled together; default
	// event.MaxHandledPushes.
	Batch int
	// Pressure reports how far the projections lag; nil for no backpressure.
	Pressure Pressure
	// MaxAhead is the lag of the projections, in records, above which no batch begins.
	// Batches resume at half of it. Default 10,000.
	MaxAhead int64
	// Attempts bounds the attempts for a record; default 5.
	Attempts int
	// Backoff is the upper bound of the first wait; it doubles with each attempt, up to
	// MaxBackoff. The defaults are 200 ms and 30 s.
	Backoff, MaxBackoff time.Duration
	// Patience is how long the records of a key are retried while a service that they
	// need does not answer (ErrElsewhere); default 10 minutes.
	Patience time.Duration
	// Jitter returns a wait between 1 ns and the given one; nil for a random one.
	Jitter func(wait time.Duration) time.Duration
	// Drain is how long running batches may continue when the worker stops or a
	// partition is revoked; default 20 s.
	Drain time.Duration
	// Logger defaults to slog.Default.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

func (o *Options) ensureDefaults() {
	if o.Group == "" {
		o.Group = DefaultGroup
	}
	if o.Topic == "" {
		o.Topic = event.TopicEvents
	}
	if o.Lanes <= 0 {
		o.Lanes = 2 * runtime.GOMAXPROCS(0)
	}
	if o.Batch <= 0 {
		o.Batch = event.MaxHandledPushes
	}
	if o.MaxAhead <= 0 {
		o.MaxAhead = 10_000
	}
	if o.Attempts <= 0 {
		o.Attempts = 5
	}
	if o.Backoff <= 0 {
		o.Backoff = 200 * time.Millisecond
	}
	if o.MaxBackoff <= 0 {
		o.MaxBackoff = 30 * time.Second
	}
	if o.Patience <= 0 {
		o.Patience = 10 * time.Minute
	}
	if o.Stall <= 0 {
		o.Stall = 45 * time.Minute
	}
	if o.Limit <= 0 {
		o.Limit = 24 * time.Hour
	}
	if o.Drain <= 0 {
		o.Drain = 20 * time.Second
	}
	if o.Jitter == nil {
		o.Jitter = fullJitter
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

// A Worker consumes the partitions that are assigned to it in its group.
type Worker struct {
	o         Options
	metrics   *metrics
	slots     *semaphore.Weighted // one for each running batch
	longSlots *semaphore.Weighted // the part of the slots that Options.Long records may use
	gate      gate
	mu        struct {
		sync.Mutex
		held map[int32]*partition
		// handlings are the running calls of the handler.
		handlings map[*handlerCall]struct{}
	}
}

// New returns a Worker.
func New(o Options) (*Worker, error) {
	if o.Log == nil || o.Handler == nil {
		return nil, errors.New("worker: Options need Log and Handler")
	}
	o.ensureDefaults()
	w := &Worker{
		o: o, metrics: newMetrics(o.Registerer), slots: semaphore.NewWeighted(int64(o.Lanes)),
		longSlots: semaphore.NewWeighted(int64(max(1, o.Lanes/2))),
		gate:      gate{min: o.Backoff, max: o.MaxBackoff, jitter: o.Jitter},
	}
	w.mu.held, w.mu.handlings = map[int32]*partition{}, map[*handlerCall]struct{}{}
	return w, nil
}

// Run consumes until ctx ends, then drains. It returns nil after a requested stop, or the
// log's error if the log failed.
func (w *Worker) Run(ctx context.Context) error {
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var watch sync.WaitGroup
	watch.Go(func() { w.watchLoop(watching) })
	defer watch.Wait()
	defer stop()
	backoff := eventlog.Backoff{Min: w.o.Backoff, Max: w.o.MaxBackoff, Jitter: w.o.Jitter}
	return eventlog.Rejoin(ctx, w.o.Log, w.o.Group, w.o.Topic, backoff, w.o.Logger, w.consumePartition)
}

// DoneBelow returns the offset below which all records of a key in a partition are done:
// handled, durable among the dead letters, or not wanted. Unlike the committed offset, it
// does not wait for other keys. ok is false if another process holds the partition.
func (w *Worker) DoneBelow(partition int32, key []byte) (next event.Offset, ok bool) {
	w.mu.Lock()
	p := w.mu.held[partition]
	w.mu.Unlock()
	if p == nil {
		return 0, false
	}
	return p.window.doneBelow(key), true
}

func (w *Worker) addPartition(p *partition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.held[p.a.Partition()] = p
}

func (w *Worker) removePartition(p *partition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.mu.held, p.a.Partition())
	w.metrics.deletePartition(p.a.Partition())
}

func fullJitter(wait time.Duration) time.Duration { return rand.N(wait) + 1 }
