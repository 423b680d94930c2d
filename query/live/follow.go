package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// retryAfter is the pause after an error of the log.
const retryAfter = 5 * time.Second

// Run follows the log until ctx ends. It retries after errors of the log.
func (f *Feed) Run(ctx context.Context) error {
	defer f.Close()
	for ctx.Err() == nil {
		err := f.followLog(ctx)
		if ctx.Err() != nil {
			break
		}
		f.o.Logger.Warn("the event stream cannot read the log; trying again", "error", err)
		_ = clock.Sleep(ctx, retryAfter) // the loop checks ctx
	}
	return nil
}

// followLog reads every partition from where it stopped or, at the start, from shortly
// before the end.
func (f *Feed) followLog(ctx context.Context) error {
	if err := f.findStart(ctx); err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	for p := range f.nextOffsets() {
		g.Go(func() error { return f.followPartition(gctx, int32(p)) })
	}
	g.Go(func() error { return f.watchWork(gctx) })
	g.Go(func() error { return f.watchLag(gctx) })
	return g.Wait()
}

// findStart sets the start offsets of the feed if it has none.
func (f *Feed) findStart(ctx context.Context) error {
	if f.nextOffsets() != nil {
		return nil
	}
	high, err := f.o.Log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return fmt.Errorf("live: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.next, f.mu.kept = make([]event.Offset, len(high)), make([]event.Offset, len(high))
	for p, end := range high {
		f.mu.next[p] = max(0, end-backfillRecords)
		f.mu.kept[p] = f.mu.next[p]
	}
	return nil
}

func (f *Feed) nextOffsets() []event.Offset {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]event.Offset(nil), f.mu.next...)
}

func (f *Feed) followPartition(ctx context.Context, partition int32) (err error) {
	reader, err := f.o.Log.Tail(ctx, event.TopicEvents, partition, f.nextOffsets()[partition])
	if err != nil {
		return fmt.Errorf("live: partition %d: %w", partition, err)
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	for {
		rec, err := reader.Next(ctx)
		if err != nil {
			return fmt.Errorf("live: partition %d: %w", partition, err)
		}
		if err := f.takeRecord(ctx, rec); err != nil {
			return err
		}
	}
}

// takeRecord adds the notices of a record once the record has been applied.
func (f *Feed) takeRecord(ctx context.Context, rec event.Record) error {
	_, ev, err := event.Decode(rec)
	if err != nil {
		ev = nil // the projections make it a dead letter
	}
	var id code.RepositoryID
	if ev != nil {
		id = ev.Key()
	}
	known, registered := f.o.Repository(id) // a removal deletes it from the catalog
	if err := f.o.AwaitApplied(ctx, rec.Position, id); err != nil {
		return err
	}
	if !registered {
		known, registered = f.o.Repository(id)
	}
	var notices []*Notice
	if ev != nil && (registered || id == 0) {
		notices = f.noticesOf(rec, ev, known)
	}
	f.add(rec.Position.Partition, rec.Position.Offset+1, notices...)
	return nil
}

// lagInterval is how often the end of the log is read.
const lagInterval = 5 * time.Second

// watchLag keeps the lag gauge current.
func (f *Feed) watchLag(ctx context.Context) error {
	tick := time.NewTicker(lagInterval)
	defer tick.Stop()
	for {
		if high, err := f.o.Log.HighWater(ctx, event.TopicEvents); err == nil {
			records := event.Offset(0)
			for p, next := range f.nextOffsets() {
				if p < len(high) {
					records += max(0, high[p]-next)
				}
			}
			f.metrics.lag.Set(float64(records))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
