package versions

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/repair"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Run runs the live version, its successors, and the replays that build them, until ctx
// ends or the store or the log fails.
func (v *Versions) Run(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return v.runLive(gctx) })
	g.Go(func() error { return v.replays.run(gctx) })
	g.Go(func() error {
		select {
		case err := <-v.damaged:
			return err
		case <-gctx.Done():
			return nil
		}
	})
	return repair.MarkDamaged(v.Live().Store, g.Wait())
}

func (v *Versions) runLive(ctx context.Context) error {
	for i := v.Live(); ; {
		if err := v.runIndex(ctx, i); err != nil || ctx.Err() != nil {
			return err
		}
		next := v.Live()
		if err := v.handOver(i, next); err != nil {
			return fmt.Errorf("hand over from %s to %s: %w", i.Store.Dir(), next.Store.Dir(), err)
		}
		i = next
	}
}

// errSuperseded stops the parts of a version that is no longer live.
var errSuperseded = errors.New("another version is live")

// runIndex runs the parts that belong to the live version i until ctx ends or another
// version becomes live. Nothing is deleted before it has caught up: a version that lags
// does not know which documents came back.
func (v *Versions) runIndex(ctx context.Context, i *Version) error {
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return i.Runner.Run(gctx) })
	g.Go(func() error {
		select {
		case <-i.Runner.CaughtUp():
			return i.Places.Run(gctx)
		case <-gctx.Done():
			return nil
		}
	})
	if i.Reindexer != nil {
		g.Go(func() error { return i.Reindexer.Run(gctx, i.Runner.CaughtUp()) })
	}
	if i.Eraser != nil {
		g.Go(func() error { return i.Eraser.Run(gctx) })
	}
	g.Go(func() error { return i.restorer.Run(gctx, i.segments()) })
	g.Go(func() error {
		select {
		case <-i.Superseded:
			return errSuperseded
		case <-gctx.Done():
			return nil
		}
	})
	if err := g.Wait(); !errors.Is(err, errSuperseded) {
		return err
	}
	return nil
}

// segments returns the segments that may be restored.
func (i *Version) segments() repair.Owner {
	if i.Meta.IsFrozen() {
		return repair.Owner{Places: i.Places}
	}
	return repair.Owner{Places: i.Places, Runner: i.Runner}
}

// AcquireScrubbed returns the live version for a scrubber, and a function that releases
// it.
func (v *Versions) AcquireScrubbed() (repair.ScrubbedVersion, func()) {
	i := v.Acquire()
	out := repair.ScrubbedVersion{Rows: i.Store, Restorer: i.restorer, Store: i.StoreChecker}
	if !i.Meta.IsFrozen() {
		out.CaughtUp = i.Runner.CaughtUp()
	}
	return out, i.Release
}

// handOver moves to next, on which nothing runs yet, what only one version may have: the
// registered metrics and the pending deletions.
func (v *Versions) handOver(old, next *Version) error {
	old.metrics.unregisterLive()
	if err := next.metrics.registerLive(); err != nil {
		return err
	}
	if err := next.Places.TakeOver(old.Store); err != nil {
		return err
	}
	if next.Meta.IsFrozen() || next.Meta.Share != "" {
		next.Places.StopDeleting()
	}
	close(next.handoverDone)
	return nil
}

// switchLive makes next live. point makes the change durable. switchLive returns once the
// previous version is closed, when all its readers have ended.
func (v *Versions) switchLive(ctx context.Context, next *Version, point func() error) error {
	old := v.Live()
	if err := point(); err != nil {
		return err
	}
	v.live.Store(next)
	close(old.Superseded)
	v.o.Logger.Info("switched to another version of the projections", "from", filepath.Base(old.Store.Dir()), "to", filepath.Base(next.Store.Dir()))
	v.warnFrozen(next)
	select {
	case <-next.handoverDone:
	case <-ctx.Done():
		return ctx.Err()
	}
	old.Release()
	select {
	case <-old.refCount.unused:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := v.closeVersion(old); err != nil {
		return err
	}
	return v.o.Home.Clean()
}

// closeVersion closes a version that has no readers.
func (v *Versions) closeVersion(i *Version) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := slices.Index(v.mu.open, i)
	if at < 0 {
		return nil
	}
	v.mu.open = slices.Delete(v.mu.open, at, at+1)
	i.close()
	return i.Store.Close()
}

// Close closes every open version. It must be called once, after Run has returned and all
// views are released.
func (v *Versions) Close() error {
	v.mu.Lock()
	open := slices.Clone(v.mu.open)
	v.mu.Unlock()
	var errs []error
	for _, i := range open {
		errs = append(errs, v.closeVersion(i))
	}
	return errors.Join(append(errs, v.blocks.Close())...)
}

// WaitForLog waits until readers of a version see everything that the log holds now.
func (v *Versions) WaitForLog(ctx context.Context, i *Version) error {
	high, err := v.o.Log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return err
	}
	ends := make([]projections.Checkpoint, len(high))
	for p, next := range high {
		ends[p] = projections.Checkpoint{Partition: int32(p), Next: next}
	}
	return waitFor(ctx, i.Runner, ends)
}

// waitFor returns once readers of r's projections see everything below the checkpoints.
func waitFor(ctx context.Context, r *projections.Runner, checkpoints []projections.Checkpoint) error {
	var last []event.Position
	for _, c := range checkpoints {
		if c.Next > 0 {
			last = append(last, event.Position{Topic: event.TopicEvents, Partition: c.Partition, Offset: c.Next - 1})
		}
	}
	return r.WaitFor(ctx, last...)
}
