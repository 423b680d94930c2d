package projections

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
)

// progressInterval is the interval between progress reports of a replay.
const progressInterval = time.Second

// ReplayOptions configure Build and Replay.
type ReplayOptions struct {
	Home    *Home
	Log     Tailer
	Objects segmentstore.Store
	// Open opens the projections over the new store; close is called before the store is
	// closed. They must not delete objects, and must keep segments that nothing
	// references yet.
	Open func(ctx context.Context, s *store.Store, d *Decoder) (p []Projection, close func(), err error)
	// Share is the share of the partitions whose places the version holds, and Holds is
	// Options.Holds.
	Share string
	Holds func(p Projection, partition int32) bool
	// Store are the options of the new store.
	Store store.Options
	// Topic is the topic to read. Default: event.TopicEvents.
	Topic event.Topic

	// Projection, if set, is the projection to rebuild: the version begins as a copy of
	// Source, a live store, without the rows of that projection, which are those of
	// Family. With Until, that projection shows the past and the others their state at
	// the time of the copy.
	Projection string
	Family     store.Family
	Source     *store.Store

	// Until ends the version at a point in the past. Settle, if set, is called once it is
	// reached, with the ends of the partitions, and returns what is missing permanently.
	Until  *Until
	Settle func(ctx context.Context, at []Checkpoint) (Missing, error)
	// Follow, if set, is called once the version has applied all records that the log
	// contained at the start. The version keeps following the log until Follow returns.
	Follow func(ctx context.Context, r *Runner) error

	// Progress, if set, is called about once a second with the number of applied records
	// and the total.
	Progress func(done, total int64)
	// Logger is optional.
	Logger *slog.Logger
	// Now is the clock of Meta and of Built.Runner. Default: time.Now.
	Now func() time.Time
}

func (o *ReplayOptions) checkOptions() error {
	if o.Home == nil || o.Log == nil || o.Objects == nil || o.Open == nil {
		return errors.New("replay: want a home, a log, a segment store and projections")
	}
	if o.Projection != "" && (o.Source == nil || o.Family == 0) {
		return fmt.Errorf("replay %s: want a live store and the family of its rows", o.Projection)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}

// Built is an open, complete version. It is not live before Home.Switch.
type Built struct {
	Dir         string
	Meta        Meta
	Store       *store.Store
	Decoder     *Decoder
	Projections []Projection
	// Runner has filled the store, and has ended.
	Runner *Runner

	closeProjections func()
}

// Close closes the version, which stays in its home.
func (b *Built) Close() error {
	if b.closeProjections != nil {
		b.closeProjections()
	}
	return b.Store.Close()
}

// Replay builds a version from the log next to the live one, up to the high-water marks
// at its start, and switches the home to it. Nothing live changes before the switch. It
// returns the directory of the new version; the caller must remove versions older than
// the previous one with Home.Clean. If Replay fails or ctx ends, it removes the new
// version.
func Replay(ctx context.Context, o ReplayOptions) (dir string, err error) {
	b, err := Build(ctx, o)
	if err != nil {
		return "", err
	}
	if err := b.Close(); err != nil {
		return "", err
	}
	return b.Dir, o.Home.Switch(b.Dir)
}

// Build builds a version next to the live one, which may be in use, and leaves it open.
// If Build fails or ctx ends, it removes the version; the next Home.Clean removes a
// version that a process left unfinished.
func Build(ctx context.Context, o ReplayOptions) (*Built, error) {
	if err := o.checkOptions(); err != nil {
		return nil, err
	}
	dir, err := o.Home.Next()
	if err != nil {
		return nil, err
	}
	b := &Built{Dir: dir, Meta: Meta{Until: o.Until, Projection: o.Projection, Share: o.Share, BegunAt: o.Now().UTC()}}
	if err := o.fillVersion(ctx, b); err != nil {
		err = fmt.Errorf("replay into %s: %w", dir, err)
		if b.Store != nil {
			err = errors.Join(err, b.Close())
		}
		return nil, errors.Join(err, store.Remove(dir))
	}
	return b, nil
}

// fillVersion fills the version.
func (o *ReplayOptions) fillVersion(ctx context.Context, b *Built) (err error) {
	if err := o.open(ctx, b); err != nil {
		return err
	}
	var last *Runner
	if o.Projection != "" {
		last, err = o.rebuildOne(ctx, b)
	}
	if err == nil && (o.Projection == "" || o.Until == nil) {
		last, err = o.followAll(ctx, b)
	}
	if err == nil && o.Until != nil {
		err = o.settlePast(ctx, b, last)
	}
	if err != nil {
		return err
	}
	b.Runner = last
	return o.completeVersion(b)
}

// followAll applies the log to all projections.
func (o *ReplayOptions) followAll(ctx context.Context, b *Built) (*Runner, error) {
	r, err := New(Options{
		Store: b.Store, Log: o.Log, Decoder: b.Decoder, Projections: b.Projections, Topic: o.Topic, Until: o.Until, Now: o.Now, Logger: o.Logger, Holds: o.Holds,
	})
	if err != nil {
		return nil, err
	}
	return r, o.catchUp(ctx, r, o.Follow)
}

// open creates the store, empty or as a copy, and opens the projections over it.
func (o *ReplayOptions) open(ctx context.Context, b *Built) (err error) {
	if o.Projection != "" {
		b.Meta.CopyOf = filepath.Base(o.Source.Dir())
		if err := o.Source.Backup(b.Dir); err != nil {
			return err
		}
	}
	if err := WriteMeta(b.Dir, b.Meta); err != nil {
		return err
	}
	if b.Store, err = store.Open(b.Dir, o.Store); err != nil {
		return err
	}
	if o.Projection != "" {
		if err := o.dropRows(b.Store); err != nil {
			return err
		}
	}
	b.Decoder = NewDecoder(o.Objects)
	b.Projections, b.closeProjections, err = o.Open(ctx, b.Store, b.Decoder)
	return err
}

// dropRows removes the rows of the projection.
func (o *ReplayOptions) dropRows(s *store.Store) error {
	batch := s.NewBatch()
	if err := batch.DeleteRange([]byte{byte(o.Family)}, []byte{byte(o.Family) + 1}); err != nil {
		return errors.Join(err, batch.Close())
	}
	return batch.Commit()
}

// rebuildOne applies the log to the projection alone, up to the position of the copy or
// to the point in the past.
func (o *ReplayOptions) rebuildOne(ctx context.Context, b *Built) (*Runner, error) {
	var one Projection
	for _, p := range b.Projections {
		if p.Name() == o.Projection {
			one = p
		}
	}
	if one == nil {
		return nil, fmt.Errorf("there is no projection %q", o.Projection)
	}
	until := o.Until
	if until == nil {
		here, err := o.readCheckpoints(ctx, b.Store)
		if err != nil {
			return nil, err
		}
		until = &Until{Positions: here}
	}
	batch := b.Store.NewBatch()
	if err := batch.SetSchema(one.Name(), one.SchemaVersion()); err != nil {
		return nil, errors.Join(err, batch.Close())
	}
	if err := batch.Commit(); err != nil {
		return nil, err
	}
	r, err := New(Options{
		Store: b.Store, Log: o.Log, Decoder: b.Decoder, Projections: []Projection{one}, Topic: o.Topic,
		Until: until, FromStart: true, Logger: o.Logger, Holds: o.Holds,
	})
	if err != nil {
		return nil, err
	}
	return r, o.catchUp(ctx, r, nil)
}

// readCheckpoints returns the checkpoint of the store in every partition of the log.
func (o *ReplayOptions) readCheckpoints(ctx context.Context, s *store.Store) ([]Checkpoint, error) {
	topic := o.Topic
	if topic == "" {
		topic = event.TopicEvents
	}
	n, err := o.Log.Partitions(ctx, topic)
	if err != nil {
		return nil, err
	}
	here := make([]Checkpoint, n)
	for i := range here {
		here[i].Partition = int32(i)
		if here[i].Next, err = s.TopicCheckpoint(topic, int32(i)); err != nil {
			return nil, err
		}
	}
	return here, nil
}

// settlePast records the ends of the partitions and lets the caller find documents of the
// past that are missing now.
func (o *ReplayOptions) settlePast(ctx context.Context, b *Built, r *Runner) (err error) {
	b.Meta.Until = &Until{Time: o.Until.Time, Positions: r.Checkpoints()}
	if o.Settle != nil {
		b.Meta.Missing, err = o.Settle(ctx, b.Meta.Until.Positions)
	}
	return err
}

// completeVersion makes the version durable and marks it as complete.
func (o *ReplayOptions) completeVersion(b *Built) error {
	if err := b.Store.Sync(); err != nil {
		return err
	}
	b.Meta.Schemas = map[string]int{}
	for _, p := range b.Projections {
		b.Meta.Schemas[p.Name()] = p.SchemaVersion()
	}
	b.Meta.CompletedAt = o.Now().UTC()
	return WriteMeta(b.Dir, b.Meta)
}

// catchUp runs r until it has published everything that was in the log at its start, and
// then until follow returns.
func (o *ReplayOptions) catchUp(ctx context.Context, r *Runner, follow func(context.Context, *Runner) error) error {
	runCtx, stop := context.WithCancel(ctx)
	defer stop()
	g, gctx := errgroup.WithContext(runCtx)
	g.Go(func() error { return r.Run(gctx) })
	g.Go(func() error {
		defer stop()
		if !o.awaitCaughtUp(gctx, r) || follow == nil {
			return nil
		}
		return ignoreEnd(gctx, follow(gctx, r))
	})
	if err := g.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// awaitCaughtUp reports progress until r has caught up. It returns false if ctx ends
// first; the error of Run or of the caller then explains why.
func (o *ReplayOptions) awaitCaughtUp(ctx context.Context, r *Runner) bool {
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	for {
		select {
		case <-r.CaughtUp():
			o.reportProgress(r)
			return true
		case <-tick.C:
			o.reportProgress(r)
		case <-ctx.Done():
			return false
		}
	}
}

func (o *ReplayOptions) reportProgress(r *Runner) {
	if o.Progress != nil {
		o.Progress(r.Progress())
	}
}
