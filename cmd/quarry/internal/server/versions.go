package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/integrity"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
)

// versions holds the live version of the projections and puts another in its
// place: one that a replay made, or the one before. A reader calls acquire
// once and finishes on the version it got.
type versions struct {
	o       Options
	home    *projections.Home
	log     eventlog.Log
	objects segmentstore.Store
	frames  *segment.Cache
	// blocks is Pebble's cache, of all versions together.
	blocks *store.Cache
	live   atomic.Pointer[index]
	// ready is set once a live version has caught up with the log: the process is
	// ready from then on, whatever is switched to.
	ready   atomic.Bool
	replays *replays
	metrics *versionsMetrics
	// mirrors returns those of this process; nil if it has none.
	mirrors func() *mirror.Mirrors
	// emptyQuarantine removes the damaged objects of the segment store.
	emptyQuarantine func() (int, error)
	// refused says why the workers gave an event up; nil if nothing knows.
	failureReason func(event.Position) (reason string, given bool)
	// damaged takes the first damaged file with rows that is met while they are read.
	damaged chan error
	damage  *damageMetrics
	// startedOver says that the live version was damaged at the start, and is rebuilt.
	startedOver bool

	mu struct {
		sync.Mutex
		open []*index
	}
}

var _ io.Closer = (*versions)(nil)

func newVersions(o Options, home *projections.Home, log eventlog.Log, objects segmentstore.Store, frames *segment.Cache) *versions {
	v := &versions{o: o, home: home, log: log, objects: objects, frames: frames, blocks: store.NewCache(int64(o.Config.Cache.BlocksBytes)), damaged: make(chan error, 1)}
	v.replays, v.metrics = newReplays(v), newVersionsMetrics(v)
	return v
}

// newIndexOptions are those of an index over a store.
func (v *versions) newIndexOptions(s *store.Store, m *versionMetrics) indexOptions {
	o := v.o
	o.Registerer = m
	return indexOptions{Options: o, store: s, log: tailer{v.log}, deadLetters: v.log, deletes: true, objects: v.objects, cache: v.frames, beforePurge: v.replays.dropPrevious}
}

// open opens the live version, which it rebuilds if another version of the
// program wrote it, and removes what a former process left unfinished.
func (v *versions) open(ctx context.Context) error {
	dir, err := v.home.Current()
	if isDamage(err) {
		v.o.Logger.Error("the pointer to the projections is damaged; the newest version is taken", "error", err)
		if err := v.home.RepairCurrent(); err != nil {
			return err
		}
		dir, err = v.home.Current()
	}
	if err != nil {
		return err
	}
	i, err := v.openVersion(ctx, dir)
	switch {
	case errors.Is(err, projections.ErrSchema):
		i, err = v.rebuildVersion(ctx, err)
	case isDamage(err):
		i, err = v.startOver(ctx, err)
	}
	if err != nil {
		return err
	}
	if err := v.checkAhead(ctx, i); err != nil {
		return err
	}
	if err := i.metrics.registerLive(); err != nil {
		return err
	}
	v.live.Store(i)
	if err := v.home.Clean(); err != nil {
		return err
	}
	v.warnFrozen(i)
	return v.registerMetrics()
}

// rebuildVersion rebuilds projections that another version of the program wrote, for the
// given reason, and opens them.
func (v *versions) rebuildVersion(ctx context.Context, reason error) (*index, error) {
	v.o.Logger.Info("rebuilding the projections from the log", "reason", reason)
	next, err := v.buildVersion(ctx, &replayOrder{}, func(done, total int64) {
		v.o.Logger.Info("rebuilding", "records", done, "of", total)
	})
	if err != nil {
		return nil, err
	}
	return next, v.home.Switch(next.store.Dir())
}

// startOver sets the live version aside, whose files are damaged, and opens a new one in
// its place, which follows the log from its first record.
func (v *versions) startOver(ctx context.Context, damage error) (*index, error) {
	dir, err := v.home.Current()
	if err != nil {
		return nil, err
	}
	aside, err := v.home.SetAside()
	if err != nil {
		return nil, errors.Join(damage, err)
	}
	v.damage.rebuilt.WithLabelValues(scrubbedProjections).Inc()
	v.startedOver = true
	v.o.Logger.Error("the projections are damaged; they are set aside and rebuilt from the log", "directory", dir, "set_aside", aside, "error", damage)
	return v.openVersion(ctx, dir)
}

// checkAhead fails if the projections have applied records that the embedded log does not
// have: it was lost, or replaced by an older copy. Records that are appended to it now
// would take the places of others, and never be applied.
func (v *versions) checkAhead(ctx context.Context, i *index) error {
	if v.o.Config.Log.Driver == "kafka" || i.meta.IsFrozen() {
		return nil // topics have owners, who may trim or move them
	}
	high, err := v.log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return fmt.Errorf("compare the projections with the log: %w", err)
	}
	for p, end := range high {
		next, err := i.store.Checkpoint(int32(p))
		if err != nil {
			return err
		}
		if next > end {
			return fmt.Errorf("the event log in %s ends at record %d of partition %d, and the projections have applied %d: the log was lost, or is an older copy; restore it from the newest backup (quarry restore), or, to go on with the records that it has, remove %s and %s: they are rebuilt from it",
				v.o.Config.LogDir(), end, p, next, v.o.Config.ProjectionsDir(), v.o.Config.AccountsDir())
		}
	}
	return nil
}

// isDamage reports whether an error comes from damaged files of a store.
func isDamage(err error) bool { return errors.Is(err, integrity.ErrDamaged) }

// warnFrozen logs that a version shows the past.
func (v *versions) warnFrozen(i *index) {
	if i.meta.IsFrozen() {
		v.o.Logger.Warn("the projections show a moment of the past and do not follow the log; quarry replay --rollback returns to the present",
			"asOf", i.meta.Until.String(), "missingDocuments", i.meta.Missing.Documents)
	}
}

// openVersion opens the version in dir; it does not make it live.
func (v *versions) openVersion(ctx context.Context, dir string) (*index, error) {
	if err := projections.CheckMark(dir); err != nil {
		return nil, err
	}
	meta, err := projections.ReadMeta(dir)
	if err != nil {
		return nil, err
	}
	m, heal := newVersionMetrics(v.o.Registerer), v.newHealer()
	options := store.Options{Cache: v.blocks, DiskFull: v.o.diskFull, Logger: v.o.Logger, Registerer: m, OnDamage: v.noteDamage(heal), Remedy: remedyStart}
	if v.o.simulated != nil {
		options.Memory = v.o.simulated.disk
	}
	rows, err := store.Open(dir, options)
	if err != nil {
		return nil, fmt.Errorf("open projections: %w", err)
	}
	o := v.newIndexOptions(rows, m)
	if meta.IsFrozen() {
		o.deadLetters, o.deletes = nil, false
	}
	i, err := openIndex(ctx, o, meta)
	if err != nil {
		return nil, errors.Join(err, rows.Close())
	}
	i.metrics, i.heal = m, heal
	return v.registerVersion(i), nil
}

func (v *versions) newHealer() *healer { return newHealer(v.o.Logger, v.damage) }

// noteDamage returns store.Options.OnDamage of a version. The healer restores
// segments; a damaged file with rows ends the process: what is answered without them
// may be wrong.
func (v *versions) noteDamage(h *healer) func(*store.DamageError) {
	return func(d *store.DamageError) {
		if d.InSegment() {
			h.noteDamage(d)
			return
		}
		select {
		case v.damaged <- d:
		default: // one is enough to stop the process
		}
	}
}

// remedyStart is what helps against damaged rows.
const remedyStart = "start the server again: it rebuilds them from the log"

// registerVersion gives an index what only one that may become live needs, and notes what
// Close has to close.
func (v *versions) registerVersion(i *index) *index {
	i.applied = newAppliedTracker(v.log, workerGroup, i.runner.Checkpoints)
	i.keeper = newSegmentKeeper(v, i)
	if !i.meta.IsFrozen() {
		i.repair = newRepairer(v.log, i, v.o.Logger)
		i.eraser = newEraser(v, i)
	}
	i.superseded, i.handoverDone = make(chan struct{}), make(chan struct{})
	i.refCount.start()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mu.open = append(v.mu.open, i)
	return i
}

// acquireLive returns the live version, whose store stays open until the caller
// calls use.release.
func (v *versions) acquireLive() *index {
	for {
		if i := v.live.Load(); i.refCount.tryAcquire() {
			return i
		}
	}
}

// caughtUp reports whether a live version has caught up with the log since the
// process began.
func (v *versions) caughtUp() bool {
	if v.ready.Load() {
		return true
	}
	select {
	case <-v.live.Load().runner.CaughtUp():
		v.ready.Store(true)
		return true
	default:
		return false
	}
}

// asOf says which moment of the past the live version shows; empty for the
// present.
func (v *versions) asOf() string { return v.live.Load().asOf() }

func (i *index) asOf() string {
	if !i.meta.IsFrozen() {
		return ""
	}
	return i.meta.Until.String()
}

// reportedCheckpoints returns the checkpoints that are committed to the log and that workers wait
// for. A frozen version reports the end of the log, so that no worker waits for it.
func (v *versions) reportedCheckpoints() []projections.Checkpoint {
	i := v.live.Load()
	if !i.meta.IsFrozen() {
		return i.runner.Checkpoints()
	}
	ctx, cancel := context.WithTimeout(context.Background(), noteEvery)
	defer cancel()
	high, err := v.log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return nil // the next note tries again
	}
	out := make([]projections.Checkpoint, len(high))
	for p, next := range high {
		out[p] = projections.Checkpoint{Partition: int32(p), Next: next}
	}
	return out
}

// Run runs the live version, its successors, and the replays that make them,
// until ctx ends or the store or the log fails.
func (v *versions) Run(ctx context.Context) error {
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
	return markDamaged(v.live.Load().store, g.Wait())
}

// ErrStartAgain says that Run has met damaged rows, and that the next start rebuilds
// them.
var ErrStartAgain = errors.New("damaged rows")

// markDamaged has the next start rebuild a store if err says that its rows are
// damaged, and makes the error ErrStartAgain.
func markDamaged(s *store.Store, err error) error {
	var damage *store.DamageError
	if !errors.As(err, &damage) || damage.InSegment() {
		return err
	}
	if markErr := projections.MarkDamaged(s.Dir(), damage); markErr != nil {
		return errors.Join(err, markErr)
	}
	return fmt.Errorf("%w: %w", ErrStartAgain, err)
}

func (v *versions) runLive(ctx context.Context) error {
	for i := v.live.Load(); ; {
		if err := v.runIndex(ctx, i); err != nil || ctx.Err() != nil {
			return err
		}
		next := v.live.Load()
		if err := v.handOver(i, next); err != nil {
			return fmt.Errorf("hand over from %s to %s: %w", i.store.Dir(), next.store.Dir(), err)
		}
		i = next
	}
}

// errSuperseded ends what runs for a version that is live no more.
var errSuperseded = errors.New("another version is live")

// runIndex runs the parts that belong to the live version i until ctx ends or another
// version is live. Nothing is deleted before it has caught up: a version that is
// behind does not know which documents came back.
func (v *versions) runIndex(ctx context.Context, i *index) error {
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return i.runner.Run(gctx) })
	g.Go(func() error {
		select {
		case <-i.runner.CaughtUp():
			return i.places.Run(gctx)
		case <-gctx.Done():
			return nil
		}
	})
	if i.repair != nil {
		g.Go(func() error { return i.keepComplete(gctx) })
		g.Go(func() error { return i.eraser.Run(gctx) })
	}
	g.Go(func() error { return i.heal.Run(gctx, i) })
	g.Go(func() error {
		select {
		case <-i.superseded:
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

// handOver gives next, where nothing runs yet, what old has alone.
func (v *versions) handOver(old, next *index) error {
	old.metrics.unregisterLive()
	if err := next.metrics.registerLive(); err != nil {
		return err
	}
	if err := next.places.TakeOver(old.store); err != nil {
		return err
	}
	if next.meta.IsFrozen() {
		next.places.StopDeleting()
	}
	close(next.handoverDone)
	return nil
}

// switchLive makes next live, durably by what point does to the home, and returns
// once the version before is closed: what began on it has then ended.
func (v *versions) switchLive(ctx context.Context, next *index, point func() error) error {
	old := v.live.Load()
	if err := point(); err != nil {
		return err
	}
	v.live.Store(next)
	close(old.superseded)
	v.o.Logger.Info("switched to another version of the projections", "from", filepath.Base(old.store.Dir()), "to", filepath.Base(next.store.Dir()))
	v.warnFrozen(next)
	select {
	case <-next.handoverDone:
	case <-ctx.Done():
		return ctx.Err()
	}
	old.refCount.release()
	select {
	case <-old.refCount.unused:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := v.closeVersion(old); err != nil {
		return err
	}
	return v.home.Clean()
}

// closeVersion closes a version that has no readers.
func (v *versions) closeVersion(i *index) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := slices.Index(v.mu.open, i)
	if at < 0 {
		return nil
	}
	v.mu.open = slices.Delete(v.mu.open, at, at+1)
	i.close()
	return i.store.Close()
}

// Close closes every version that is open, and is called once. Run has returned,
// and views are released.
func (v *versions) Close() error {
	v.mu.Lock()
	open := slices.Clone(v.mu.open)
	v.mu.Unlock()
	var errs []error
	for _, i := range open {
		errs = append(errs, v.closeVersion(i))
	}
	return errors.Join(append(errs, v.blocks.Close())...)
}

// waitFor returns once readers of what r applies see everything below the
// checkpoints.
func waitFor(ctx context.Context, r *projections.Runner, checkpoints []projections.Checkpoint) error {
	var last []event.Position
	for _, c := range checkpoints {
		if c.Next > 0 {
			last = append(last, event.Position{Topic: event.TopicEvents, Partition: c.Partition, Offset: c.Next - 1})
		}
	}
	return r.WaitFor(ctx, last...)
}

// utcNow is the clock of what a replay says of itself.
func utcNow() time.Time { return time.Now().UTC() }
