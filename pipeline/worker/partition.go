package worker

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/event"
)

// passedEvery is the interval at which the offset is committed while only unwanted
// records arrive, so that a skipped record alone does not cause a commit.
const passedEvery = time.Second

// A partition is the worker's state of a partition assigned to it.
type partition struct {
	w      *Worker
	a      eventlog.Assignment
	window *window
	lanes  sync.WaitGroup
	// committed is used only by the goroutine that commits, and after it has ended.
	committed event.Offset
}

// consumePartition consumes one partition until it is revoked.
func (w *Worker) consumePartition(ctx context.Context, a eventlog.Assignment) error {
	w.o.Logger.Debug("partition assigned", "partition", a.Partition())
	p := &partition{w: w, a: a, window: newWindow(w.o.Removes)}
	w.addPartition(p)
	defer w.removePartition(p)
	return p.run(ctx)
}

// run reads, handles and commits until ctx ends or one of the three fails. Then running
// batches have Options.Drain to end.
func (p *partition) run(outer context.Context) error {
	ctx, cancel := context.WithCancelCause(outer)
	drain, drained := p.w.drainContext(ctx)
	defer drained()
	committing, stop := context.WithCancel(context.WithoutCancel(outer))
	var commits sync.WaitGroup
	commits.Go(func() {
		if err := p.commitLoop(committing); err != nil {
			cancel(err)
		}
	})
	cancel(p.read(ctx, drain))
	p.lanes.Wait()
	stop()
	commits.Wait()
	err := p.commit(context.WithoutCancel(outer))
	if left := p.window.fillLevel().records; left > 0 {
		p.w.o.Logger.Info("partition revoked with unfinished events", "partition", p.a.Partition(), "records", left, "committed", p.committed)
	}
	if outer.Err() != nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// read reads records into the window.
func (p *partition) read(ctx, drain context.Context) error {
	for first := true; ; first = false {
		rec, err := p.a.Next(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("read partition %d: %w", p.a.Partition(), err)
		}
		if first && !p.notifyAssigned(ctx, rec.Position) {
			return ctx.Err()
		}
		begun, err := p.window.add(ctx, rec, p.w.o.Handler.Wants(rec))
		if err != nil {
			return err
		}
		if begun != nil {
			p.lanes.Go(func() { p.workLane(ctx, drain, begun) })
		}
	}
}

// notifyAssigned calls Handler.Assigned until it succeeds. It returns false if ctx ends
// first.
func (p *partition) notifyAssigned(ctx context.Context, first event.Position) bool {
	for wait := p.w.o.Backoff; ; wait = min(2*wait, p.w.o.MaxBackoff) {
		limited, cancel := context.WithTimeoutCause(ctx, p.w.o.Limit, ErrTimeout)
		err := p.checkBeginning(limited, first)
		if err == nil {
			err = p.w.o.Handler.Assigned(limited, first)
		}
		cancel()
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		p.w.metrics.retries.Inc()
		p.w.o.Logger.Warn("assigning a partition failed; retrying", "partition", first.Partition, "offset", first.Offset, "error", err)
		if clock.Sleep(ctx, p.w.o.Jitter(wait)) != nil {
			return false
		}
	}
}

// checkBeginning returns an error if the group has not handled the records before first, the first
// one of the assignment, and cannot: they were deleted from the log.
func (p *partition) checkBeginning(ctx context.Context, first event.Position) error {
	if first.Offset == 0 || !first.Topic.KeptWhole() {
		return nil
	}
	committed, err := p.w.o.Log.Committed(ctx, p.w.o.Group, first.Topic)
	if err == nil && committed[first.Partition] == 0 {
		err = fmt.Errorf("%w: the records before %s were deleted from the log, and group %s has committed no offset: to go on without them, set its offsets to the earliest ones (kafka-consumer-groups.sh --reset-offsets --to-earliest), and run quarry verify --repair (docs/scaling.md#a-log-without-its-beginning)",
			eventlog.ErrOffsetOutOfRange, first, p.w.o.Group)
	}
	return err
}

// commitLoop commits the low-water mark as it rises.
func (p *partition) commitLoop(ctx context.Context) error {
	tick := time.NewTicker(passedEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.window.finished:
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if err := p.commit(ctx); err != nil {
			return err
		}
	}
}

func (p *partition) commit(ctx context.Context) error {
	low, passed := p.window.lowWater()
	if low <= p.committed {
		return nil
	}
	if err := p.a.Commit(ctx, low); err != nil {
		return fmt.Errorf("commit partition %d at %d: %w", p.a.Partition(), low, err)
	}
	p.committed = low
	if passed != nil {
		if !passed.Time.IsZero() {
			p.w.metrics.age.WithLabelValues(strconv.Itoa(int(passed.Position.Partition))).Set(max(time.Since(passed.Time).Seconds(), 0))
		}
		p.w.o.Handler.Committed(*passed)
	}
	return nil
}

// drainContext returns a context that outlives ctx by Options.Drain.
func (w *Worker) drainContext(ctx context.Context) (context.Context, context.CancelFunc) {
	drain, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(w.o.Drain)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel(errDrained)
		case <-drain.Done():
		}
	})
	return drain, func() { stop(); cancel(nil) }
}
