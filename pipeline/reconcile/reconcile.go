package reconcile

import (
	"container/heap"
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// Status is the result of the last check of a repository.
type Status struct {
	// LookedAt is zero before the first check by this process.
	LookedAt time.Time
	// Result is one of the constants; empty before the first check.
	Result string
	// Code is the reason for a failure; Detail is git's error message, without
	// credentials, for owners.
	Code   failure.Code
	Detail string
	// NextAt is when the next check is due.
	NextAt time.Time
}

// A Reconciler checks the repositories of the partitions that its group assigns to it.
type Reconciler struct {
	o       Options
	metrics *metrics
	// wake receives a value, without blocking, when the first check becomes due earlier
	// than before.
	wake chan struct{}

	mu struct {
		sync.Mutex
		schedule schedule
		byID     map[code.RepositoryID]*repository
		// unreachable contains, by host, the repositories whose host did not answer the
		// last check. A host without such repositories has no entry.
		unreachable map[string]map[code.RepositoryID]*repository
	}
}

// New returns a Reconciler.
func New(o Options) (*Reconciler, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.ensureDefaults()
	r := &Reconciler{o: o, wake: make(chan struct{}, 1)}
	r.mu.byID, r.mu.unreachable = map[code.RepositoryID]*repository{}, map[string]map[code.RepositoryID]*repository{}
	r.metrics = newMetrics(o.Registerer, r)
	return r, nil
}

// Run checks repositories until ctx ends, and then returns nil, or until the log is
// closed. It must be called only once.
func (r *Reconciler) Run(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return eventlog.Rejoin(gctx, r.o.Log, r.o.Group, r.o.Topic, rejoinBackoff, r.o.Logger, r.followPartition)
	})
	for range r.o.Concurrency {
		g.Go(func() error { r.lookAll(gctx); return nil })
	}
	return g.Wait()
}

// followPartition follows one partition until it is revoked.
func (r *Reconciler) followPartition(ctx context.Context, a eventlog.Assignment) error {
	high, err := r.o.Log.HighWater(ctx, r.o.Topic)
	if err == nil && int(a.Partition()) >= len(high) {
		err = fmt.Errorf("%s has %d partitions", r.o.Topic, len(high))
	}
	if err != nil {
		return fmt.Errorf("reconcile: partition %d: %w", a.Partition(), err)
	}
	p := &partition{number: a.Partition(), repositories: map[code.RepositoryID]*repository{}, target: high[a.Partition()]}
	defer r.leavePartition(p)
	for {
		rec, err := a.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reconcile: read partition %d: %w", p.number, err)
		}
		r.takeRecord(p, rec)
	}
}

// isRelevant reports whether events of a type change the current or pending commit of a
// ref.
func isRelevant(t event.Type) bool {
	switch t {
	case event.TypePush, event.TypeRepositoryRegistered, event.TypeRepositoryChanged, event.TypeRepositoryRemoved, event.TypeRevisionIndexed:
		return true
	}
	return false
}

// takeRecord applies one record. It ignores a record that cannot be decoded, which other
// components report.
func (r *Reconciler) takeRecord(p *partition, rec event.Record) {
	var env event.Envelope
	var ev event.Event
	if isRelevant(event.TypeOf(rec)) {
		env, ev, _ = event.Decode(rec)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	wasLive := p.hasCaughtUp()
	r.applyLocked(p, ev, rec, env.Source == source)
	p.next = rec.Position.Offset + 1
	p.releaseWaiters()
	if !wasLive && p.hasCaughtUp() {
		for _, k := range p.repositories {
			r.scheduleLocked(k, nextLook(k.ID, r.o.Now(), r.o.Interval))
		}
	}
}

func (r *Reconciler) applyLocked(p *partition, ev event.Event, rec event.Record, own bool) {
	switch ev := ev.(type) {
	case *event.RepositoryRegistered:
		r.registeredLocked(p, ev.Repository, rec.Position.Offset)
	case *event.RepositoryChanged:
		if p.repositories[ev.Repository.ID] != nil {
			r.registeredLocked(p, ev.Repository, rec.Position.Offset)
		}
	case *event.RepositoryRemoved:
		if k := p.repositories[ev.Repository]; k != nil {
			r.forgetLocked(p, k)
		}
	case *event.RevisionIndexed:
		if k := p.repositories[ev.Repository]; k != nil {
			k.applyIndexed(ev)
		}
	case *event.Push:
		if k := p.repositories[ev.Repository]; k != nil {
			k.applyPush(ev, rec.Position.Offset)
			if own {
				k.countOwnPush(ev.Ref, rec.Time)
			}
		}
	}
}

// registeredLocked records a repository, which a worker will now index completely.
func (r *Reconciler) registeredLocked(p *partition, is code.Repository, at event.Offset) {
	k := p.repositories[is.ID]
	if k == nil {
		k = newRepository(p, is, at)
		p.repositories[is.ID], r.mu.byID[is.ID] = k, k
		if p.hasCaughtUp() {
			r.scheduleLocked(k, nextLook(is.ID, r.o.Now(), r.o.Interval))
		}
	}
	k.Repository = is
	k.ensureRef(everyRef).pushedNext = at + 1
}

func (r *Reconciler) forgetLocked(p *partition, k *repository) {
	k.gone = true
	r.mu.schedule.removeRepository(k)
	r.noteReachedLocked(k)
	delete(p.repositories, k.ID)
	if r.mu.byID[k.ID] == k {
		delete(r.mu.byID, k.ID)
	}
}

// leavePartition drops a partition, and ends the waits for its records.
func (r *Reconciler) leavePartition(p *partition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range p.repositories {
		r.forgetLocked(p, k)
	}
	p.next = math.MaxInt64
	p.releaseWaiters()
}

func (r *Reconciler) scheduleLocked(k *repository, due time.Time) {
	if k.gone {
		return
	}
	k.due, k.status.NextAt = due, due
	r.mu.schedule.add(k)
	if r.mu.schedule[0] == k {
		r.wakeLooker()
	}
}

// wakeLooker makes a goroutine of lookAll check again which repository is due first.
func (r *Reconciler) wakeLooker() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// next waits for the repository that is due first, and removes it from the schedule. It
// returns nil once ctx has ended.
func (r *Reconciler) next(ctx context.Context) *repository {
	for {
		r.mu.Lock()
		wait := MaxBackoff
		if len(r.mu.schedule) > 0 {
			wait = r.mu.schedule[0].due.Sub(r.o.Now())
		}
		if wait <= 0 {
			k := heap.Pop(&r.mu.schedule).(*repository)
			if len(r.mu.schedule) > 0 {
				r.wakeLooker() // for the next goroutine
			}
			r.mu.Unlock()
			return k
		}
		r.mu.Unlock()
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-r.wake:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		timer.Stop()
	}
}

// Status returns the result of the last check of a repository; ok is false if another
// process checks it.
func (r *Reconciler) Status(id code.RepositoryID) (s Status, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.mu.byID[id]
	if k == nil {
		return s, false
	}
	return k.status, true
}

// CheckSoon makes the check of a repository due, because its host redirects to another
// clone URL. It does nothing if another process checks the repository.
func (r *Reconciler) CheckSoon(id code.RepositoryID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.mu.byID[id]
	if k == nil || !k.partition.hasCaughtUp() || k.index == unscheduled {
		return
	}
	r.mu.schedule.removeRepository(k)
	r.scheduleLocked(k, r.o.Now())
}

// longestOverdue returns for how long the check of the most overdue repository has been
// due.
func (r *Reconciler) longestOverdue() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.mu.schedule) == 0 {
		return 0
	}
	return max(0, r.o.Now().Sub(r.mu.schedule[0].due))
}

func (r *Reconciler) repositoryCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mu.byID)
}
