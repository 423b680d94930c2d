package versions

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/replay"
)

// maxReplays bounds the number of replays that are remembered.
const maxReplays = 16

// Replays builds versions of the projections, one at a time, and reports the progress.
type Replays struct {
	versions *Versions
	// orders has room for the one replay that may be running.
	orders chan *replayOrder
	mu     struct {
		sync.Mutex
		last int // last ID
		// known holds the latest replays, newest first.
		known []*replayOrder
		// active is the running replay, or nil.
		active *replayOrder
	}
}

// replayOrder is one requested replay and its state. Replays.mu guards the fields that
// change.
type replayOrder struct {
	replay.Replay
	until *projections.Until
	// force switches to the version even if it lacks documents of the live one.
	force  bool
	target projections.Owner // nil for all projections

	canceled bool
	cancel   context.CancelFunc // nil until the replay runs
}

// errCanceled is the error of a replay that was canceled.
var errCanceled = errors.New("canceled")

// Start implements the Replays of the API.
func (r *Replays) Start(_ context.Context, in replay.Request) (replay.Replay, error) {
	order := &replayOrder{Replay: replay.Replay{Projection: in.Projection, To: in.To}, force: in.Force}
	if err := r.versions.parseReplayRequest(order, in); err != nil {
		return replay.Replay{}, fmt.Errorf("%w: %w", replay.ErrRefused, err)
	}
	order.Warning = memoryWarning(r.versions.o.MemoryLimitBytes)
	return r.submitReplay(order)
}

// parseReplayRequest validates the request.
func (v *Versions) parseReplayRequest(order *replayOrder, in replay.Request) (err error) {
	if in.Projection != "" {
		if order.target, err = v.Live().findProjection(in.Projection); err != nil {
			return err
		}
		if v.Live().Meta.IsFrozen() {
			return errors.New("the live version shows the past and cannot be copied; omit projection")
		}
		if ahead, err := v.Live().isAhead(); ahead || err != nil {
			return errors.Join(err, errors.New("the live version has parts of several snapshots and has not caught up with them; start the server until it is ready, or omit projection"))
		}
	}
	if in.To != "" {
		if !v.o.Share.IsAll() {
			return errors.New("a process with a share shows no moment of the past; use one that holds everything")
		}
		order.until, err = parseUntil(in.To)
	}
	return err
}

// parseUntil parses a moment of the past.
func parseUntil(to string) (*projections.Until, error) {
	until, err := projections.ParseUntil(to)
	if err == nil && until.Time.After(time.Now().UTC()) {
		err = fmt.Errorf("%s is in the future", to)
	}
	return until, err
}

// Rollback implements the Replays of the API.
func (r *Replays) Rollback(context.Context) (replay.Replay, error) {
	previous, err := r.versions.o.Home.Previous()
	if err == nil && previous == "" {
		err = fmt.Errorf("%w: %w", replay.ErrBusy, projections.ErrNoPrevious)
	}
	if err != nil {
		return replay.Replay{}, err
	}
	return r.submitReplay(&replayOrder{Replay: replay.Replay{Rollback: true}})
}

// submitReplay passes a replay to run.
func (r *Replays) submitReplay(order *replayOrder) (replay.Replay, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.active != nil {
		return replay.Replay{}, fmt.Errorf("%w: replay %d is running", replay.ErrBusy, r.mu.active.ID)
	}
	r.mu.last++
	order.ID, order.State, order.BegunAt = r.mu.last, replay.Building, time.Now().UTC()
	r.mu.active = order
	r.mu.known = slices.Insert(r.mu.known, 0, order)
	r.mu.known = r.mu.known[:min(len(r.mu.known), maxReplays)]
	r.orders <- order
	return order.Replay, nil
}

// Cancel implements the Replays of the API.
func (r *Replays) Cancel(_ context.Context, id int) (replay.Replay, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.mu.known, func(known *replayOrder) bool { return known.ID == id })
	if i < 0 {
		return replay.Replay{}, fmt.Errorf("replay %d: %w", id, code.ErrNotFound)
	}
	found := r.mu.known[i]
	if found.State == replay.Building {
		found.canceled = true
		if found.cancel != nil {
			found.cancel()
		}
	}
	return found.Replay, nil
}

// dropPrevious removes the previous version and a version that was set aside, because
// they still contain the text that is about to be deleted permanently. It fails while a
// replay is running.
func (r *Replays) dropPrevious() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.active != nil {
		return fmt.Errorf("replay %d is running", r.mu.active.ID)
	}
	if err := r.versions.o.Home.DropSetAside(); err != nil {
		return err
	}
	previous, err := r.versions.o.Home.Previous()
	if err != nil || previous == "" {
		return err
	}
	if err := r.versions.o.Home.DropPrevious(); err != nil {
		return err
	}
	r.versions.o.Logger.Info("dropped the previous version of the projections: it holds text of removed repositories or branches", "version", filepath.Base(previous))
	return nil
}

// isBusy reports whether a replay is running.
func (r *Replays) isBusy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.active != nil
}

// List implements the Replays of the API.
func (r *Replays) List(context.Context) (replay.List, error) {
	live := r.versions.Acquire()
	defer live.Release()
	out := replay.List{Projections: live.projectionNames()}
	var err error
	if out.Current, err = describeVersion(live.Store.Dir()); err != nil {
		return out, err
	}
	previous, err := r.versions.o.Home.Previous()
	if err == nil && previous != "" && previous != live.Store.Dir() {
		var v replay.Version
		v, err = describeVersion(previous)
		out.Previous = &v
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, known := range r.mu.known {
		out.Replays = append(out.Replays, known.Replay)
	}
	return out, err
}

func describeVersion(dir string) (replay.Version, error) {
	meta, err := projections.ReadMeta(dir)
	if err != nil {
		return replay.Version{}, err
	}
	v := replay.Version{
		Name: filepath.Base(dir), CopyOf: meta.CopyOf, Projection: meta.Projection, MissingDocuments: meta.Missing.Documents, MissingFiles: meta.Missing.Files, CompletedAt: meta.CompletedAt,
	}
	if meta.IsFrozen() {
		v.AsOf = meta.Until.String()
	}
	v.DiskBytes, err = projections.DiskBytes(dir)
	return v, err
}

// run executes orders until ctx ends.
func (r *Replays) run(ctx context.Context) error {
	for {
		select {
		case order := <-r.orders:
			if err := r.runReplay(ctx, order); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// runReplay executes an order. It returns an error only if the process cannot continue;
// an error before the switch fails only the replay.
func (r *Replays) runReplay(ctx context.Context, order *replayOrder) error {
	building, cancel := context.WithCancel(ctx)
	defer cancel()
	r.mu.Lock()
	order.cancel = cancel
	if order.canceled {
		cancel()
	}
	r.mu.Unlock()
	next, point, err := r.makeVersion(building, order)
	if err == nil && order.needsLossCheck() {
		if lossErr := r.versions.checkLoss(r.versions.Live(), next); lossErr != nil {
			_, keepErr := r.versions.Live().StoreChecker.Check(building, true) // and re-index what it lacks
			err = errors.Join(lossErr, keepErr, r.versions.discardVersion(next))
		}
	}
	if err == nil && !r.beginSwitch(order) {
		err = errors.Join(errCanceled, r.versions.discardVersion(next))
	}
	var fatal error
	if err == nil {
		next.Ledger.Continue(r.versions.Live().Ledger)
		err = r.versions.switchLive(ctx, next, point)
		if next != r.versions.Live() {
			err = errors.Join(err, r.versions.discardVersion(next))
		} else if ctx.Err() == nil {
			fatal = err
		}
	}
	if err == nil {
		if dropErr := r.versions.dropUnused(); dropErr != nil {
			r.versions.o.Logger.Warn("cannot drop the previous version of the projections; the next start does", "error", dropErr)
		}
	}
	r.finishReplay(order, next, err)
	return fatal
}

// makeVersion returns the requested version, open, and a function that makes it live
// durably.
func (r *Replays) makeVersion(ctx context.Context, order *replayOrder) (next *Version, point func() error, err error) {
	if !order.Rollback {
		if order.needsLossCheck() {
			r.versions.Live().StoreChecker.CheckOnce(ctx)
		}
		next, err = r.versions.buildVersion(ctx, order, func(done, total int64) { r.noteProgress(order, done, total) })
		return next, func() error { return r.versions.o.Home.Switch(next.Store.Dir()) }, err
	}
	previous, err := r.versions.o.Home.Previous()
	if err == nil && previous == "" {
		err = projections.ErrNoPrevious
	}
	if err == nil {
		next, err = r.versions.openVersion(ctx, previous)
	}
	return next, func() error { _, err := r.versions.o.Home.Rollback(); return err }, err
}

func (r *Replays) noteProgress(order *replayOrder, done, total int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	order.Records, order.RecordsTotal = done, total
	if seconds := time.Since(order.BegunAt).Seconds(); seconds > 0 {
		order.RecordsPerSecond = float64(done) / seconds
	}
}

// beginSwitch records that a replay can no longer be canceled. It reports false if the
// replay was canceled before.
func (r *Replays) beginSwitch(order *replayOrder) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if order.canceled {
		return false
	}
	order.State = replay.Switching
	return true
}

// finishReplay records the result of a replay.
func (r *Replays) finishReplay(order *replayOrder, next *Version, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.active = nil
	order.EndedAt, order.State = time.Now().UTC(), replay.Done
	switch {
	case order.canceled:
		order.State = replay.Canceled
	case err != nil:
		order.State, order.Error = replay.Failed, err.Error()
		r.versions.o.Logger.Error("replay failed; the live version of the projections is kept", "replay", order.ID, "error", err)
	default:
		order.MissingDocuments = next.Meta.Missing.Documents
	}
	r.versions.metrics.replays.WithLabelValues(string(order.State)).Inc()
}

// findProjection returns the projection with the given name.
func (i *Version) findProjection(name string) (projections.Owner, error) {
	for _, p := range i.listProjections() {
		if owner, ok := p.(projections.Owner); ok && p.Name() == name {
			return owner, nil
		}
	}
	return nil, fmt.Errorf("unknown projection %.40q; valid names are %s", name, strings.Join(i.projectionNames(), ", "))
}

// isAhead reports whether a projection has applied records above the checkpoint.
func (i *Version) isAhead() (bool, error) {
	for _, offsets := range i.Meta.Ahead {
		for p, offset := range offsets {
			if next, err := i.Store.Checkpoint(p); err != nil || next < offset {
				return true, err
			}
		}
	}
	return false, nil
}

// projectionNames returns the names of projections that can be rebuilt separately.
func (i *Version) projectionNames() []string {
	var names []string
	for _, p := range i.listProjections() {
		if _, ok := p.(projections.Owner); ok {
			names = append(names, p.Name())
		}
	}
	return names
}
