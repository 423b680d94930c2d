package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Errors that a Handler wraps to say what its failure means.
var (
	// ErrPermanent says that trying again is no use.
	ErrPermanent = errors.New("permanent failure")
	// ErrUnavailable says that something every record needs is missing for now.
	ErrUnavailable = errors.New("unavailable for now")
)

// A Handler handles the records of all partitions; it is called by several
// goroutines.
type Handler interface {
	// Wants reports, from a record's headers, whether Handle has anything to do.
	Wants(rec event.Record) bool
	// Handle does what a record asks for. A repetition must be harmless.
	Handle(ctx context.Context, rec event.Record) error
}

// Log is the part of an event log that a Worker uses.
type Log interface {
	Join(ctx context.Context, group string, topic event.Topic, handle func(context.Context, eventlog.Assignment) error) error
	Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error)
	HighWater(ctx context.Context, topic event.Topic) ([]event.Offset, error)
}

// Options configure a Worker. Log and Handler are required.
type Options struct {
	Log     Log
	Handler Handler
	// Group is the consumer group; default "quarry-workers".
	Group string
	// Topic is what the group reads; default event.TopicEvents.
	Topic event.Topic
	// Attempts bounds how often a record is tried; default 5.
	Attempts int
	// Backoff is the longest first wait, doubled for each further one up to
	// MaxBackoff. Default 200 ms and 30 s.
	Backoff, MaxBackoff time.Duration
	// Drain is how long the record in hand may go on when the worker stops;
	// default 20 s.
	Drain time.Duration
	// Logger; default slog.Default.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

func (o *Options) ensureDefaults() {
	if o.Group == "" {
		o.Group = "quarry-workers"
	}
	if o.Topic == "" {
		o.Topic = event.TopicEvents
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
	if o.Drain <= 0 {
		o.Drain = 20 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

// A Worker consumes the partitions that its group gives it.
type Worker struct {
	o       Options
	metrics *metrics
}

// New returns a Worker.
func New(o Options) (*Worker, error) {
	if o.Log == nil || o.Handler == nil {
		return nil, errors.New("worker: Options need Log and Handler")
	}
	o.ensureDefaults()
	return &Worker{o: o, metrics: newMetrics(o.Registerer)}, nil
}

// Run consumes until ctx ends, then drains. It returns nil if it was told to
// stop, and the log's error if that gave up.
func (w *Worker) Run(ctx context.Context) error {
	for wait := w.o.Backoff; ; wait = min(2*wait, w.o.MaxBackoff) {
		started := time.Now()
		err := w.o.Log.Join(ctx, w.o.Group, w.o.Topic, w.partition)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, eventlog.ErrClosed) {
			return fmt.Errorf("consume %s: %w", w.o.Topic, err)
		}
		if time.Since(started) > w.o.MaxBackoff {
			wait = w.o.Backoff
		}
		w.o.Logger.Warn("the consumer group was left; joining again", "group", w.o.Group, "error", err)
		if !pause(ctx, jitter(wait)) {
			return nil
		}
	}
}

// partition consumes one partition until it is taken away.
func (w *Worker) partition(ctx context.Context, a eventlog.Assignment) error {
	w.o.Logger.Debug("partition assigned", "partition", a.Partition())
	drain, cancel := w.draining(ctx)
	defer cancel()
	lag := lagMeter{w: w, partition: a.Partition()}
	for {
		rec, err := a.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read partition %d: %w", a.Partition(), err)
		}
		if !w.record(ctx, drain, rec) {
			return nil
		}
		if err := a.Commit(drain, rec.Position.Offset+1); err != nil {
			return fmt.Errorf("commit %s: %w", rec.Position, err)
		}
		lag.committed(drain, rec)
	}
}

// lagEvery bounds how often the log is asked how far it has come.
const lagEvery = time.Second

// A lagMeter keeps the lag of one partition, while records come.
type lagMeter struct {
	w         *Worker
	partition int32
	asked     time.Time
	high      event.Offset
}

// committed records that rec is done. The number of records behind is exact when
// the log was just asked, and as of a second ago at the most otherwise.
func (l *lagMeter) committed(ctx context.Context, rec event.Record) {
	next := rec.Position.Offset + 1
	if time.Since(l.asked) > lagEvery || next > l.high {
		l.asked = time.Now()
		if high, err := l.w.o.Log.HighWater(ctx, l.w.o.Topic); err == nil && int(l.partition) < len(high) {
			l.high = high[l.partition]
		}
	}
	l.w.metrics.lag(l.partition, max(l.high-next, 0), rec)
}

// draining returns a context that outlives ctx by Options.Drain.
func (w *Worker) draining(ctx context.Context) (context.Context, context.CancelFunc) {
	drain, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(w.o.Drain)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-drain.Done():
		}
	})
	return drain, func() { stop(); cancel() }
}

// record handles one record to its end, and reports whether that was reached:
// it is not if the worker was stopped first.
func (w *Worker) record(ctx, drain context.Context, rec event.Record) bool {
	if !w.o.Handler.Wants(rec) {
		return true
	}
	started := time.Now()
	for attempt, wait := 1, w.o.Backoff; ; wait = min(2*wait, w.o.MaxBackoff) {
		err := w.handle(drain, rec)
		switch verdict := w.judge(drain, err, attempt); verdict {
		case verdictDone:
			w.metrics.done(rec, resultHandled, time.Since(started))
			return true
		case verdictBury:
			w.metrics.done(rec, resultDead, time.Since(started))
			return w.bury(drain, rec, attempt, err)
		case verdictStop:
			return false
		case verdictRetry:
			attempt++
		}
		w.metrics.retries.Inc()
		w.o.Logger.Warn("a record could not be handled; trying again", "partition", rec.Position.Partition,
			"offset", rec.Position.Offset, "type", string(event.TypeOf(rec)), "attempt", attempt, "error", err)
		if !pause(ctx, jitter(wait)) {
			return false
		}
	}
}

type verdict int

const (
	verdictDone  verdict = iota
	verdictBury          // give up on the record
	verdictRetry         // try again, and count it
	verdictWait          // try again, however often
	verdictStop          // the worker was stopped
)

func (w *Worker) judge(drain context.Context, err error, attempt int) verdict {
	switch {
	case err == nil:
		return verdictDone
	case drain.Err() != nil:
		return verdictStop
	case errors.Is(err, ErrPermanent):
		return verdictBury
	case errors.Is(err, ErrUnavailable), errors.Is(err, eventlog.ErrFull):
		return verdictWait
	case attempt >= w.o.Attempts:
		return verdictBury
	}
	return verdictRetry
}

// handle calls the handler and turns a panic into a permanent failure.
func (w *Worker) handle(ctx context.Context, rec event.Record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.o.Logger.Error("the handler of a record panicked", "partition", rec.Position.Partition,
				"offset", rec.Position.Offset, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("%w: panic: %v", ErrPermanent, p)
		}
	}()
	return w.o.Handler.Handle(ctx, rec)
}

// bury puts a record to the dead letters; it tries until the log takes it.
func (w *Worker) bury(ctx context.Context, rec event.Record, attempts int, reason error) bool {
	w.o.Logger.Error("a record is given up and kept in the dead letters", "partition", rec.Position.Partition,
		"offset", rec.Position.Offset, "type", string(event.TypeOf(rec)), "attempts", attempts, "error", reason)
	letter := event.DeadLetter(rec, "worker", attempts, reason)
	for wait := w.o.Backoff; ; wait = min(2*wait, w.o.MaxBackoff) {
		_, err := w.o.Log.Append(ctx, event.TopicDeadLetters, eventlog.AnyPartition, letter)
		if err == nil {
			return true
		}
		w.o.Logger.Error("a dead letter could not be written; trying again", "error", err)
		if !pause(ctx, jitter(wait)) {
			return false
		}
	}
}

func jitter(wait time.Duration) time.Duration { return rand.N(wait) + 1 }

// pause waits, and reports whether ctx lasted as long.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
