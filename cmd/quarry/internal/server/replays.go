package server

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
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/code"
)

// maxReplays bounds the replays that are remembered.
const maxReplays = 16

// replays makes versions of the projections, one at a time, and says how far it
// is. It implements api.Replays.
type replays struct {
	v *versions
	// orders has room for the one replay that may be at work.
	orders chan *replay
	mu     struct {
		sync.Mutex
		last int // ID
		// known holds the latest replays, the newest first.
		known []*replay
		// active is nil if none is at work.
		active *replay
	}
}

var _ api.Replays = (*replays)(nil)

// replay is one order, and what became of it. replays.mu guards what changes.
type replay struct {
	api.Replay
	until *projections.Until
	// force switches to the version even if it lacks what the live one has.
	force  bool
	target projections.Owner // nil for all

	canceled bool
	cancel   context.CancelFunc // nil until it runs
}

// errCanceled is why a replay ends that was told to.
var errCanceled = errors.New("canceled")

func newReplays(v *versions) *replays { return &replays{v: v, orders: make(chan *replay, 1)} }

// Start implements api.Replays.
func (r *replays) Start(_ context.Context, in api.ReplayRequest) (api.Replay, error) {
	order := &replay{Replay: api.Replay{Projection: in.Projection, To: in.To}, force: in.Force}
	if err := r.v.understand(order, in); err != nil {
		return api.Replay{}, fmt.Errorf("%w: %w", api.ErrReplayRefused, err)
	}
	order.Warning = r.v.memoryWarning()
	return r.order(order)
}

// understand finds what is asked for.
func (v *versions) understand(order *replay, in api.ReplayRequest) (err error) {
	if in.Projection != "" {
		if order.target, err = v.live.Load().projection(in.Projection); err != nil {
			return err
		}
		if v.live.Load().meta.Frozen() {
			return errors.New("the live version shows the past and is no base for a copy; leave out projection")
		}
	}
	if in.To != "" {
		order.until, err = untilOf(in.To)
	}
	return err
}

// untilOf reads a moment of the past.
func untilOf(to string) (*projections.Until, error) {
	until, err := projections.ParseUntil(to)
	if err == nil && until.Time.After(now()) {
		err = fmt.Errorf("%s is in the future", to)
	}
	return until, err
}

// Rollback implements api.Replays.
func (r *replays) Rollback(context.Context) (api.Replay, error) {
	previous, err := r.v.home.Previous()
	if err == nil && previous == "" {
		err = fmt.Errorf("%w: %w", api.ErrReplaying, projections.ErrNoPrevious)
	}
	if err != nil {
		return api.Replay{}, err
	}
	return r.order(&replay{Replay: api.Replay{Rollback: true}})
}

// order hands a replay over to run.
func (r *replays) order(order *replay) (api.Replay, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.active != nil {
		return api.Replay{}, fmt.Errorf("%w: replay %d is at work", api.ErrReplaying, r.mu.active.ID)
	}
	r.mu.last++
	order.ID, order.State, order.BegunAt = r.mu.last, api.ReplayBuilding, now()
	r.mu.active = order
	r.mu.known = slices.Insert(r.mu.known, 0, order)
	r.mu.known = r.mu.known[:min(len(r.mu.known), maxReplays)]
	r.orders <- order
	return order.Replay, nil
}

// Cancel implements api.Replays.
func (r *replays) Cancel(_ context.Context, id int) (api.Replay, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.mu.known, func(known *replay) bool { return known.ID == id })
	if i < 0 {
		return api.Replay{}, fmt.Errorf("replay %d: %w", id, code.ErrNotFound)
	}
	found := r.mu.known[i]
	if found.State == api.ReplayBuilding {
		found.canceled = true
		if found.cancel != nil {
			found.cancel()
		}
	}
	return found.Replay, nil
}

// dropPrevious removes the version before the live one, and one that was set aside,
// which still have what is about to be deleted for good. It fails while a replay is at work.
func (r *replays) dropPrevious() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.active != nil {
		return fmt.Errorf("replay %d is at work", r.mu.active.ID)
	}
	if err := r.v.home.DropSetAside(); err != nil {
		return err
	}
	previous, err := r.v.home.Previous()
	if err != nil || previous == "" {
		return err
	}
	if err := r.v.home.DropPrevious(); err != nil {
		return err
	}
	r.v.o.Logger.Info("dropped the previous version of the projections: it holds text of removed repositories or branches", "version", filepath.Base(previous))
	return nil
}

// busy reports whether a replay is at work.
func (r *replays) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.active != nil
}

// List implements api.Replays.
func (r *replays) List(context.Context) (api.ReplayList, error) {
	live := r.v.acquire()
	defer live.use.leave()
	out := api.ReplayList{Projections: live.projectionNames()}
	var err error
	if out.Current, err = describeVersion(live.store.Dir()); err != nil {
		return out, err
	}
	previous, err := r.v.home.Previous()
	if err == nil && previous != "" && previous != live.store.Dir() {
		var v api.ProjectionVersion
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

func describeVersion(dir string) (api.ProjectionVersion, error) {
	meta, err := projections.ReadMeta(dir)
	if err != nil {
		return api.ProjectionVersion{}, err
	}
	v := api.ProjectionVersion{
		Name: filepath.Base(dir), CopyOf: meta.CopyOf, Projection: meta.Projection, MissingDocuments: meta.Missing.Documents, MissingFiles: meta.Missing.Files, CompletedAt: meta.CompletedAt,
	}
	if meta.Frozen() {
		v.AsOf = meta.Until.String()
	}
	v.DiskBytes, err = projections.DiskBytes(dir)
	return v, err
}

// run works on orders until ctx ends.
func (r *replays) run(ctx context.Context) error {
	for {
		select {
		case order := <-r.orders:
			if err := r.work(ctx, order); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// work does what was ordered. Its error is one after which the process cannot go
// on: what fails before the switch is the replay's alone.
func (r *replays) work(ctx context.Context, order *replay) error {
	building, cancel := context.WithCancel(ctx)
	defer cancel()
	r.mu.Lock()
	order.cancel = cancel
	if order.canceled {
		cancel()
	}
	r.mu.Unlock()
	next, point, err := r.make(building, order)
	if err == nil && order.guarded() {
		if lossErr := r.v.checkLoss(r.v.live.Load(), next); lossErr != nil {
			_, keepErr := r.v.live.Load().keeper.check(building, true) // and have it re-indexed
			err = errors.Join(lossErr, keepErr, r.v.discard(next))
		}
	}
	if err == nil && !r.switching(order) {
		err = errors.Join(errCanceled, r.v.discard(next))
	}
	var fatal error
	if err == nil {
		next.ledger.Continue(r.v.live.Load().ledger)
		err = r.v.replace(ctx, next, point)
		if next != r.v.live.Load() {
			err = errors.Join(err, r.v.discard(next))
		} else if ctx.Err() == nil {
			fatal = err
		}
	}
	r.ended(order, next, err)
	return fatal
}

// make returns the version that was ordered, open, and what makes it live
// durably.
func (r *replays) make(ctx context.Context, order *replay) (next *index, point func() error, err error) {
	if !order.Rollback {
		if order.guarded() {
			r.v.live.Load().keeper.look(ctx)
		}
		next, err = r.v.build(ctx, order, func(done, total int64) { r.progress(order, done, total) })
		return next, func() error { return r.v.home.Switch(next.store.Dir()) }, err
	}
	previous, err := r.v.home.Previous()
	if err == nil && previous == "" {
		err = projections.ErrNoPrevious
	}
	if err == nil {
		next, err = r.v.openVersion(ctx, previous)
	}
	return next, func() error { _, err := r.v.home.Rollback(); return err }, err
}

func (r *replays) progress(order *replay, done, total int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	order.Records, order.RecordsTotal = done, total
	if seconds := time.Since(order.BegunAt).Seconds(); seconds > 0 {
		order.RecordsPerSecond = float64(done) / seconds
	}
}

// switching notes that a replay can no longer be canceled, and reports whether
// it was not.
func (r *replays) switching(order *replay) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if order.canceled {
		return false
	}
	order.State = api.ReplaySwitching
	return true
}

// ended notes what became of a replay.
func (r *replays) ended(order *replay, next *index, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.active = nil
	order.EndedAt, order.State = now(), api.ReplayDone
	switch {
	case order.canceled:
		order.State = api.ReplayCanceled
	case err != nil:
		order.State, order.Error = api.ReplayFailed, err.Error()
		r.v.o.Logger.Error("a replay failed; the live version of the projections stays", "replay", order.ID, "error", err)
	default:
		order.MissingDocuments = next.meta.Missing.Documents
	}
	r.v.metrics.replays.WithLabelValues(string(order.State)).Inc()
}

// projection returns the projection of that name.
func (i *index) projection(name string) (projections.Owner, error) {
	for _, p := range i.projections() {
		if owner, ok := p.(projections.Owner); ok && p.Name() == name {
			return owner, nil
		}
	}
	return nil, fmt.Errorf("there is no projection %.40q; there are %s", name, strings.Join(i.projectionNames(), ", "))
}

// projectionNames are the names of those that can be built anew by themselves.
func (i *index) projectionNames() []string {
	var names []string
	for _, p := range i.projections() {
		if _, ok := p.(projections.Owner); ok {
			names = append(names, p.Name())
		}
	}
	return names
}
