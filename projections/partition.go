package projections

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// partition applies one partition of the log.
type partition struct {
	r      *Runner
	number int32
	// held are the projections whose rows of the partition the store holds.
	held []Projection
	// ahead holds the offset of the next record to apply of each of them, if it is above next.
	ahead []event.Offset
	// next is the offset after the last record committed.
	next event.Offset
	// target is the high-water mark when the run began: records below it are history, all
	// others are live.
	target event.Offset
	// bounded reports that no records at or after target are applied, and, unless latest
	// is zero, none that were appended after latest.
	bounded bool
	latest  time.Time
	// oldest is the time of the record being applied in Unix nanoseconds; 0 if
	// none is.
	oldest atomic.Int64
	stall  stall // guarded by the mutex of the Runner
	// rowChanges are applied between two records (Runner.Do).
	rowChanges chan rowChange
	// freshRevisions holds the live revisions of the group, with the start times of their
	// freshness.
	freshRevisions []freshRevision
}

type freshRevision struct {
	Searchable
	since time.Time
	// began is when the record began to be applied, and trace its trace context.
	began time.Time
	trace string
}

// errStore marks failures of the projections' own store, after which the Runner cannot
// continue.
var errStore = errors.New("projection store failed")

// loadPosition reads the partition's checkpoint and its end.
func (p *partition) loadPosition() (err error) {
	if !p.r.o.FromStart {
		if p.next, err = p.r.o.Store.TopicCheckpoint(p.r.o.Topic, p.number); err != nil {
			return err
		}
	}
	if p.r.o.Until != nil {
		p.bounded = true
		p.target, p.latest, err = p.r.o.Until.partitionEnd(p.number, p.target)
	}
	return err
}

// errEnded ends a partition that has reached its point in time.
var errEnded = errors.New("the partition ends here")

// run reads and applies records until ctx or the partition ends.
func (p *partition) run(ctx context.Context) error {
	if p.bounded && p.next >= p.target {
		return nil
	}
	reader, err := p.r.o.Log.Tail(ctx, p.r.o.Topic, p.number, p.next)
	if err != nil {
		return fmt.Errorf("projections: partition %d: %w", p.number, p.explainMissing(err, p.next))
	}
	next := p.next // applyLoop changes it
	records := make(chan event.Record, queueRecords)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.read(gctx, reader, next, records) })
	g.Go(func() error { return p.applyLoop(gctx, records) })
	err = g.Wait()
	if errors.Is(err, errEnded) {
		p.r.finishPartition(p)
		err = nil
	}
	return errors.Join(err, reader.Close())
}

// ErrBeginningLost means that records which the projections have not applied were deleted from
// the log.
var ErrBeginningLost = errors.New("the log no longer has the next record to apply")

// explainMissing adds what to do to the error of a read from a position if the log begins after it.
func (p *partition) explainMissing(err error, next event.Offset) error {
	var out *event.RangeError
	if !errors.As(err, &out) || next >= out.First {
		return err
	}
	return fmt.Errorf("%w: record %d of %s, and the log begins at record %d: start from a snapshot in the segment store, which a process that has applied the records creates (quarry snapshots create), or restore a backup; without either, what the deleted records say is lost (docs/scaling.md#a-log-without-its-beginning): %w",
		ErrBeginningLost, next, p.r.o.Topic, out.First, err)
}

// read keeps the queue filled, so that apply does not wait for the log.
func (p *partition) read(ctx context.Context, reader event.Reader, next event.Offset, records chan<- event.Record) error {
	for {
		rec, err := reader.Next(ctx)
		if errors.Is(err, event.ErrOffsetOutOfRange) {
			// Records were deleted that have not been read. Tail knows where the log begins now.
			other, rangeErr := p.r.o.Log.Tail(ctx, p.r.o.Topic, p.number, next)
			if rangeErr == nil {
				rangeErr = errors.Join(err, other.Close())
			}
			err = p.explainMissing(rangeErr, next)
		}
		if err != nil {
			return fmt.Errorf("projections: read partition %d: %w", p.number, err)
		}
		next = rec.Position.Offset + 1
		select {
		case records <- rec:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// applyLoop applies waiting records in groups, and publishes each group.
func (p *partition) applyLoop(ctx context.Context, records <-chan event.Record) error {
	for {
		select {
		case rec := <-records:
			err := p.applyGroup(ctx, rec, records)
			p.publishGroup()
			if err != nil {
				return err
			}
		case c := <-p.rowChanges:
			c.done <- p.applyRowChange(c)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// rowChange changes rows of a partition between two records (Runner.Do).
type rowChange struct {
	change func(*store.Batch) error
	done   chan error // buffered for the result
}

// applyRowChange applies a change and publishes it.
func (p *partition) applyRowChange(c rowChange) error {
	b := p.r.o.Store.NewBatch()
	err := c.change(b)
	if err != nil {
		err = errors.Join(err, b.Close())
	} else {
		err = b.Commit()
	}
	p.settleBatch(err == nil)
	p.publishGroup()
	return err
}

// applyGroup applies rec and the records queued after it, at most MaxGroup records.
func (p *partition) applyGroup(ctx context.Context, rec event.Record, records <-chan event.Record) error {
	for n := 1; ; n++ {
		if err := p.applyBounded(ctx, rec); err != nil || n == MaxGroup {
			return err
		}
		select {
		case rec = <-records:
		default:
			return nil
		}
	}
}

// applyBounded applies rec, or returns errEnded if the partition ends before or
// after it.
func (p *partition) applyBounded(ctx context.Context, rec event.Record) error {
	if !p.bounded {
		return p.apply(ctx, rec)
	}
	if rec.Position.Offset >= p.target || !p.latest.IsZero() && rec.Time.After(p.latest) {
		return errEnded
	}
	if err := p.apply(ctx, rec); err != nil {
		return err
	}
	if p.next >= p.target {
		return errEnded
	}
	return nil
}

// publishGroup makes committed records visible to readers.
func (p *partition) publishGroup() {
	start := p.r.o.Now()
	for _, projection := range p.held {
		if s, ok := projection.(Stateful); ok {
			s.Publish(p.number)
		}
	}
	now := p.r.o.Now()
	p.r.metrics.publish.Observe(now.Sub(start).Seconds())
	p.oldest.Store(0)
	p.r.advancePublished(p, p.next)
	for _, rev := range p.freshRevisions {
		rev.Waited = max(0, now.Sub(rev.since))
		rev.TraceID = p.r.o.Tracer.Record(rev.trace, "apply "+string(event.TopicEvents), rev.began, now)
		tracing.Observe(p.r.metrics.searchable, rev.Waited.Seconds(), rev.TraceID)
		if p.r.o.Searchable != nil {
			p.r.o.Searchable(rev.Searchable)
		}
	}
	p.freshRevisions = p.freshRevisions[:0]
}

// apply applies one record to the store, or writes it to the dead letters.
func (p *partition) apply(ctx context.Context, rec event.Record) error {
	if rec.Position.Offset < p.next {
		p.r.metrics.records.WithLabelValues(resultDuplicate).Inc()
		return nil
	}
	p.oldest.CompareAndSwap(0, rec.Time.UnixNano())
	defer p.r.o.Decoder.Forget(p.number)
	attempts, err := p.applyWithRetry(ctx, rec)
	if err != nil && ctx.Err() == nil && !errors.Is(err, errStore) {
		err = p.writeDeadLetter(ctx, rec, attempts, err)
	}
	if err != nil {
		return err
	}
	p.next = rec.Position.Offset + 1
	return nil
}

// applyWithRetry applies rec, with retries that depend on the kind of failure. It returns
// the number of attempts, not counting those in which a store was unavailable.
func (p *partition) applyWithRetry(ctx context.Context, rec event.Record) (attempts int, err error) {
	blocked := false
	defer func() { p.setBlocked(&blocked, false) }()
	attempts, began := 1, p.r.o.Now()
	for wait := minWait; ; wait = min(2*wait, maxWait) {
		err := p.applyOnce(ctx, rec)
		if err == nil {
			p.startFreshness(rec, began)
			return attempts, nil
		}
		unavailable := errors.Is(err, ErrUnavailable)
		if errors.Is(err, errStore) || errors.Is(err, ErrPoison) || attempts >= p.r.o.Attempts && !unavailable {
			return attempts, err
		}
		if unavailable && !blocked {
			p.r.o.Logger.Error("partition is waiting for a store to respond",
				"partition", p.number, "offset", rec.Position.Offset, "error", err)
		} else if !unavailable {
			attempts++
		}
		p.setBlocked(&blocked, unavailable)
		p.r.metrics.retries.Inc()
		if clock.Sleep(ctx, wait) != nil {
			return attempts, ctx.Err()
		}
	}
}

func (p *partition) setBlocked(blocked *bool, now bool) {
	if now && !*blocked {
		p.r.metrics.blocked.Inc()
	}
	if !now && *blocked {
		p.r.metrics.blocked.Dec()
	}
	*blocked = now
}

// applyOnce applies rec in one batch, checkpoint included.
func (p *partition) applyOnce(ctx context.Context, rec event.Record) (err error) {
	start := p.r.o.Now()
	b := p.r.o.Store.NewBatch()
	defer func() { p.settleBatch(err == nil) }()
	for i, projection := range p.held {
		if rec.Position.Offset < p.ahead[i] {
			continue
		}
		if err := projection.Apply(ctx, b, rec); err != nil {
			return errors.Join(damageOf(err), fmt.Errorf("%s: apply %s: %w", projection.Name(), rec.Position, err), b.Close())
		}
	}
	if err := b.SetTopicCheckpoint(p.r.o.Topic, p.number, rec.Position.Offset+1); err != nil {
		return errors.Join(errStore, err, b.Close())
	}
	if err := b.Commit(); err != nil {
		return fmt.Errorf("%w: %w", errStore, err)
	}
	p.r.metrics.apply.Observe(p.r.o.Now().Sub(start).Seconds())
	p.r.metrics.records.WithLabelValues(resultApplied).Inc()
	return nil
}

// damageOf returns errStore for an error about a damaged file of the store, because the
// record is not at fault and skipping it would lose it.
func damageOf(err error) error {
	var damage *store.DamageError
	if errors.As(err, &damage) {
		return errStore
	}
	return nil
}

// settleBatch notifies the projections of the result of the batch.
func (p *partition) settleBatch(committed bool) {
	for _, projection := range p.held {
		s, ok := projection.(Stateful)
		if !ok {
			continue
		}
		if committed {
			s.Committed(p.number)
		} else {
			s.Discarded(p.number)
		}
	}
}

// startFreshness starts measuring the freshness of a live record.
func (p *partition) startFreshness(rec event.Record, began time.Time) {
	if rec.Position.Offset < p.target {
		return
	}
	ev, err := p.r.o.Decoder.Event(rec)
	if indexed, ok := ev.(*event.RevisionIndexed); ok && err == nil && !indexed.PushedAt.IsZero() {
		p.freshRevisions = append(p.freshRevisions, freshRevision{
			Searchable{Repository: indexed.Repository, Ref: indexed.Ref, Commit: indexed.Commit, Cause: indexed.Cause, At: rec.Position},
			indexed.PushedAt, began, event.TraceOf(rec),
		})
	}
}

// oldestAge returns the age of the oldest record being applied, in seconds.
func (p *partition) oldestAge(now time.Time) float64 {
	t := p.oldest.Load()
	if t == 0 {
		return 0
	}
	return max(0, now.Sub(time.Unix(0, t)).Seconds())
}

// stall records since when a partition has been published up to the same offset although
// the log has more records; zero if it has none.
type stall struct {
	published event.Offset
	since     time.Time
}

// stalledSeconds returns for how many seconds records have waited without one being
// published, for example because the log does not deliver them. A version of the past
// does not wait for records. The Runner's mutex must be held.
func (p *partition) stalledSeconds(published event.Offset, records int64, now time.Time) float64 {
	switch {
	case records == 0 || p.bounded:
		p.stall = stall{}
	case p.stall.since.IsZero() || p.stall.published != published:
		p.stall = stall{published, now}
	}
	if p.stall.since.IsZero() {
		return 0
	}
	return max(0, now.Sub(p.stall.since).Seconds())
}
