package audit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/event"
)

// ErrUnavailable reports that the audit log does not accept a record now.
var ErrUnavailable = errors.New("the audit log does not answer")

// Defaults of Options.
const (
	// DefaultQueueBytes holds about 60,000 records of searches.
	DefaultQueueBytes = 32 << 20
	// DefaultMaxWait is how long a request waits for the log.
	DefaultMaxWait = 5 * time.Second
	// DefaultFlushEvery is how long the record of a read waits for more records.
	DefaultFlushEvery = 100 * time.Millisecond
	// DefaultDrainTimeout bounds the time to drain the queue at the end.
	DefaultDrainTimeout = 10 * time.Second
)

// Bounds of an append.
const (
	// appendTimeout bounds one attempt; waits between attempts grow from minWait to
	// maxWait.
	appendTimeout = 10 * time.Second
	minWait       = 50 * time.Millisecond
	maxWait       = 2 * time.Second
	// maxGroupBytes keeps an event below event.MaxValueBytes even if JSON escapes all of
	// its text: a byte becomes at most six.
	maxGroupBytes = event.MaxValueBytes / 6
)

// source is the CloudEvents source of the records.
const source = "/quarry/audit"

// Appender accepts the events; the event log is one.
type Appender interface {
	// Append adds records to topic and returns once they are durable.
	Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error)
}

// Options configure a Recorder. All fields but Log may be zero.
type Options struct {
	Log Appender
	// Instance distinguishes this process from others, and from itself after a restart.
	// Default: random.
	Instance string
	// QueueBytes roughly bounds the records queued for the log.
	QueueBytes int
	// MaxWait bounds how long a request waits for the log.
	MaxWait time.Duration
	// Lossy answers requests even if the queue is full.
	Lossy bool
	// HideQueries leaves out what was searched for.
	HideQueries bool
	// FlushEvery is how long a record may wait for more records.
	FlushEvery time.Duration
	// DrainTimeout bounds the time to drain the queue at the end of Run.
	DrainTimeout time.Duration
	// PendingFile stores records that the log does not accept at the end, for the next
	// process to append. If it is empty, these records are lost.
	PendingFile string

	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

func (o *Options) ensureDefaults() {
	if o.Instance == "" {
		o.Instance = rand.Text()
	}
	if o.QueueBytes <= 0 {
		o.QueueBytes = DefaultQueueBytes
	}
	if o.MaxWait <= 0 {
		o.MaxWait = DefaultMaxWait
	}
	if o.FlushEvery <= 0 {
		o.FlushEvery = DefaultFlushEvery
	}
	if o.DrainTimeout <= 0 {
		o.DrainTimeout = DefaultDrainTimeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// Recorder appends records to the audit log.
type Recorder struct {
	o       Options
	metrics *metrics
	// wake holds a value when there is work.
	wake chan struct{}

	mu struct {
		sync.Mutex
		queue queue
		// room is closed, and replaced, when the queue shrinks.
		room chan struct{}
		// ended is set once nothing is written anymore.
		ended bool
		lost  loss
	}
	// Used only by the goroutine of Run:
	groups       uint64
	currentGroup *group // not acknowledged yet
	// pendingRecords are the records of Options.PendingFile that are not written yet.
	pendingRecords []event.Record
	failing        bool
}

// New returns a Recorder. Run writes its records.
func New(o Options) (*Recorder, error) {
	if o.Log == nil {
		return nil, errors.New("audit: want a log")
	}
	o.ensureDefaults()
	r := &Recorder{o: o, wake: make(chan struct{}, 1)}
	r.mu.room = make(chan struct{})
	r.metrics = newMetrics(o.Registerer, r)
	return r, nil
}

// Note queues the record of a read; it becomes durable shortly. If the queue is full,
// Note waits for at most Options.MaxWait and then fails with ErrUnavailable, unless the
// recorder is lossy.
func (r *Recorder) Note(ctx context.Context, rec audit.Record) error {
	err := r.enqueueEntry(ctx, entry{record: r.cleanRecord(rec)})
	if err == nil || !r.o.Lossy {
		return err
	}
	r.countLost(1)
	return nil
}

// Record returns once the record is durable. It fails with ErrUnavailable after
// Options.MaxWait, or with the error of ctx; the record may still become durable later.
func (r *Recorder) Record(ctx context.Context, rec audit.Record) error {
	ctx, cancel := context.WithTimeout(ctx, r.o.MaxWait)
	defer cancel()
	done := make(chan error, 1) // bound: one send
	if err := r.enqueueEntry(ctx, entry{record: r.cleanRecord(rec), done: done}); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("record %s: %w: %w", rec.Action, ErrUnavailable, context.Cause(ctx))
	}
}

// cleanRecord cleans a record and sets its time if it has none.
func (r *Recorder) cleanRecord(rec audit.Record) audit.Record {
	if rec.At.IsZero() {
		rec.At = r.o.Now()
	}
	if r.o.HideQueries {
		rec.Metadata = withoutQuery(rec.Metadata)
	}
	return Clean(rec)
}

// enqueueEntry adds e to the queue, and waits if the queue is full.
func (r *Recorder) enqueueEntry(ctx context.Context, e entry) error {
	e.size, e.since = sizeOf(&e.record), r.o.Now()
	room, err := r.tryEnqueue(&e)
	if room == nil {
		return err
	}
	timer := time.NewTimer(r.o.MaxWait)
	defer timer.Stop()
	for room != nil {
		select {
		case <-room:
			if room, err = r.tryEnqueue(&e); room == nil {
				return err
			}
		case <-timer.C:
			r.metrics.refused.Inc()
			return fmt.Errorf("note %s: %w: %d bytes wait to be written", e.record.Action, ErrUnavailable, r.o.QueueBytes)
		case <-ctx.Done():
			return fmt.Errorf("note %s: %w", e.record.Action, context.Cause(ctx))
		}
	}
	return err
}

// tryEnqueue adds e, or returns the channel to wait on if the queue is full.
func (r *Recorder) tryEnqueue(e *entry) (room <-chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.ended {
		return nil, fmt.Errorf("note %s: %w: the server stops", e.record.Action, ErrUnavailable)
	}
	if r.mu.queue.bytes > 0 && r.mu.queue.bytes+e.size > r.o.QueueBytes {
		return r.mu.room, nil
	}
	first := r.mu.queue.len() == 0
	r.mu.queue.pushEntry(*e)
	r.metrics.countRecord(e.record.Action)
	if first || e.done != nil && r.mu.queue.awaited == 1 || r.mu.queue.len() == event.MaxAuditRecords {
		r.signalLocked()
	}
	return nil, nil
}

func (r *Recorder) signalLocked() {
	select {
	case r.wake <- struct{}{}:
	default: // a value is pending
	}
}

// loss describes records that were not written.
type loss struct {
	count       int64
	first, last time.Time
}

// countLost counts records that will not be written.
func (r *Recorder) countLost(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.o.Now()
	if r.mu.lost.count == 0 {
		r.mu.lost.first = now
		r.o.Logger.Error("audit records lost: the event log does not accept records and audit.required is off")
	}
	r.mu.lost.count += int64(n)
	r.mu.lost.last = now
	r.metrics.lost.Add(float64(n))
}

// queueState returns the number of waiting records, their bytes, and since when they
// wait.
func (r *Recorder) queueState() (records, bytes int, since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.queue.len(), r.mu.queue.bytes, r.mu.queue.oldestSince()
}
