package projections

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
)

// ReplayOptions configure Replay.
type ReplayOptions struct {
	Home    *Home
	Log     Tailer
	Objects segmentstore.Store
	// Open opens the projections over the new store; close is called before the
	// store is closed. They must not delete objects.
	Open func(ctx context.Context, s *store.Store, d *Decoder) (p []Projection, close func(), err error)
	// Store are the options of the new store, without metrics: those belong to
	// the live one.
	Store store.Options
	// Topic is what to read. Default: event.TopicEvents.
	Topic event.Topic
	// Progress, if set, is called about once a second with the records applied
	// and those to apply.
	Progress func(done, total int64)
	// Logger defaults to none.
	Logger *slog.Logger
}

// Replay builds a store from the log, up to the high-water marks of its start,
// beside the live one, and switches the home to it. Until it has switched nothing
// that is live changes: it may run on a running server, which then closes its
// store, opens the new one and goes on from its checkpoints. It returns the
// directory of the new store; the caller removes the old one with Home.Clean
// once nobody has it open. If it fails, or ctx ends, the new store is removed.
func Replay(ctx context.Context, o ReplayOptions) (dir string, err error) {
	if o.Home == nil || o.Log == nil || o.Objects == nil || o.Open == nil {
		return "", errors.New("replay: want a home, a log, a segment store and projections")
	}
	if dir, err = o.Home.Next(); err != nil {
		return "", err
	}
	if err := o.build(ctx, dir); err != nil {
		return "", errors.Join(fmt.Errorf("replay into %s: %w", dir, err), store.Remove(dir))
	}
	return dir, o.Home.Switch(dir)
}

// build fills the store in dir.
func (o *ReplayOptions) build(ctx context.Context, dir string) (err error) {
	o.Store.Registerer = nil
	s, err := store.Open(dir, o.Store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	d := NewDecoder(o.Objects)
	p, closeAll, err := o.Open(ctx, s, d)
	if err != nil {
		return err
	}
	defer closeAll()
	r, err := New(Options{Store: s, Log: o.Log, Decoder: d, Projections: p, Topic: o.Topic, Logger: o.Logger})
	if err != nil {
		return err
	}
	if err := o.catchUp(ctx, r); err != nil {
		return err
	}
	return s.Sync()
}

// catchUp runs r until it has published what was in the log at its start.
func (o *ReplayOptions) catchUp(ctx context.Context, r *Runner) error {
	runCtx, stop := context.WithCancel(ctx)
	defer stop()
	g, gctx := errgroup.WithContext(runCtx)
	g.Go(func() error { return r.Run(gctx) })
	g.Go(func() error {
		defer stop()
		return o.wait(gctx, r)
	})
	if err := g.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// wait reports progress until r has caught up.
func (o *ReplayOptions) wait(ctx context.Context, r *Runner) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-r.CaughtUp():
			o.report(r)
			return nil
		case <-tick.C:
			o.report(r)
		case <-ctx.Done():
			return nil // Run, or the caller, says why
		}
	}
}

func (o *ReplayOptions) report(r *Runner) {
	if o.Progress == nil {
		return
	}
	r.mu.Lock()
	var done, total int64
	for i, p := range r.mu.partitions {
		total += int64(p.target)
		done += int64(min(r.mu.published[i], p.target))
	}
	r.mu.Unlock()
	o.Progress(done, total)
}
