package admission

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// A Ticket is an admitted search.
type Ticket struct {
	c      *Controller
	worked atomic.Int64 // nanoseconds of all workers while interactive
	heavy  atomic.Bool
	err    atomic.Pointer[error]

	// Guarded by the controller's lock.
	hasHeavySlot bool
	left         bool
	attained     time.Duration // work of its heavy workers
	parked       []*Worker     // workers of a search without a heavy slot
}

func newTicket(c *Controller) *Ticket { return &Ticket{c: c} }

// Heavy reports whether the search has become heavy.
func (t *Ticket) Heavy() bool { return t.heavy.Load() }

// Processors returns the maximum number of workers of a search that can run concurrently.
func (t *Ticket) Processors() int { return t.c.o.Processors }

// Err returns why the search must end: ErrBusy if it became heavy and too many others
// wait for a heavy slot, or nil.
func (t *Ticket) Err() error {
	if e := t.err.Load(); e != nil {
		return *e
	}
	return nil
}

// Leave releases the slot of the search. A worker that remains, because it
// renders what the others found, continues in the class of the search. Calling Leave
// twice has no further effect.
func (t *Ticket) Leave() {
	c := t.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.left {
		return
	}
	t.left = true
	defer t.unparkLocked()
	switch {
	case !t.heavy.Load():
		<-c.slots
	case t.hasHeavySlot:
		t.hasHeavySlot = false
		c.mu.heavySearches--
		c.assignHeavySlotsLocked()
	default:
		c.mu.heavyWaiting = slices.DeleteFunc(c.mu.heavyWaiting, func(o *Ticket) bool { return o == t })
	}
}

// unparkLocked moves the workers that wait for a heavy slot to the queue for a processor. The
// controller's lock must be held.
func (t *Ticket) unparkLocked() {
	t.c.mu.queue = append(t.c.mu.queue, t.parked...)
	t.parked = nil
	t.c.dispatchLocked()
}

// demoteLocked makes the search heavy: it frees its slot, and takes a heavy slot or waits for
// one. The controller's lock must be held.
func (t *Ticket) demoteLocked() {
	c := t.c
	t.heavy.Store(true)
	c.demotions.Add(1)
	if t.left {
		return
	}
	<-c.slots
	if c.mu.heavySearches == c.o.MaxHeavy && len(c.mu.heavyWaiting) >= c.o.MaxHeavyWaiting {
		err := c.countRefusal(fmt.Errorf("%w: %d that take long wait already", ErrBusy, c.o.MaxHeavyWaiting))
		t.err.Store(&err)
		return
	}
	c.mu.heavyWaiting = append(c.mu.heavyWaiting, t)
	c.assignHeavySlotsLocked()
}

// assignHeavySlotsLocked gives free heavy slots to waiting searches, in order. c.mu must be
// held.
func (c *Controller) assignHeavySlotsLocked() {
	for c.mu.heavySearches < c.o.MaxHeavy && len(c.mu.heavyWaiting) > 0 {
		t := c.mu.heavyWaiting[0]
		c.mu.heavyWaiting = slices.Delete(c.mu.heavyWaiting, 0, 1)
		t.hasHeavySlot = true
		c.mu.heavySearches++
		t.unparkLocked()
	}
}

// A Worker is a goroutine of a search. It is running when created.
type Worker struct {
	t     *Ticket
	done  <-chan struct{}
	grant chan struct{} // a processor, for a heavy worker
	state state
	ended bool // done is closed, or the search was refused

	last    time.Duration // time of the latest Step
	worked  time.Duration // not yet added to the ticket's
	turn    time.Duration // work since the processor was granted
	quantum time.Duration // work since it last yielded to other goroutines
}

// state is the resource that a Worker holds.
type state uint8

const (
	paused state = iota
	interactive
	heavy
)

// Worker starts a worker, which waits for a processor if the search is heavy. Once done
// is closed, its work is no longer needed.
func (t *Ticket) Worker(done <-chan struct{}) *Worker {
	w := &Worker{t: t, done: done, grant: make(chan struct{}, 1)}
	w.Resume()
	return w
}

// maxStep bounds the work counted between two Steps. If more time has passed, the
// goroutine most likely was not running.
const maxStep = time.Millisecond

// flushInterval is how often a worker adds its work to that of its search.
const flushInterval = 500 * time.Microsecond

// Step must be called between two pieces of work of some ten microseconds each. It
// returns when the worker may continue, and reports whether its work is still needed.
func (w *Worker) Step() bool {
	now := w.t.c.sinceStart()
	ran := min(now-w.last, maxStep)
	w.last = now
	switch w.state {
	case interactive:
		if w.worked += ran; w.worked >= flushInterval {
			w.addWork()
		}
	case heavy:
		w.turn += ran
		if w.quantum += ran; w.quantum >= yieldInterval || w.t.c.excess.Load() {
			w.yieldProcessor()
		}
	}
	return !w.ended
}

// addWork adds to the work of the search, and makes the search heavy if it exceeds its
// slice.
func (w *Worker) addWork() {
	sum := w.t.worked.Add(int64(w.worked))
	w.worked = 0
	if time.Duration(sum) < w.t.c.sliceLimit() && !w.t.heavy.Load() {
		return
	}
	c := w.t.c
	c.mu.Lock()
	if !w.t.heavy.Load() {
		w.t.demoteLocked()
	}
	w.state = paused
	c.interactiveLocked(-1)
	c.mu.Unlock()
	w.Resume()
}

// Pause gives up the processor while the worker waits for something else.
func (w *Worker) Pause() {
	c := w.t.c
	c.mu.Lock()
	defer c.mu.Unlock()
	switch w.state {
	case interactive:
		c.interactiveLocked(-1)
	case heavy:
		w.t.attained += w.turn
		c.mu.heavy--
		c.mu.floor = false
		c.dispatchLocked()
	}
	w.state = paused
}

// Heavy reports whether the worker belongs to a heavy search and has noticed it.
func (w *Worker) Heavy() bool { return w.state == heavy }

// End ends the worker.
func (w *Worker) End() { w.Pause() }

// Resume undoes Pause; it waits as Step does.
func (w *Worker) Resume() {
	if w.state != paused || w.ended {
		return
	}
	c := w.t.c
	c.mu.Lock()
	if !w.t.heavy.Load() {
		w.state = interactive
		c.interactiveLocked(+1)
		c.mu.Unlock()
		w.last = c.sinceStart()
		return
	}
	w.queueLocked()
	c.mu.Unlock()
	w.awaitGrant()
}

// queueLocked puts the worker at the end of the queue. The controller's lock must be
// held.
func (w *Worker) queueLocked() {
	c := w.t.c
	if w.t.Err() != nil {
		w.ended = true
		return
	}
	if !w.t.hasHeavySlot && !w.t.left {
		w.t.parked = append(w.t.parked, w)
		return
	}
	c.mu.queue = append(c.mu.queue, w)
	c.dispatchLocked()
}

// awaitGrant returns when the worker has a processor or has ended.
func (w *Worker) awaitGrant() {
	if w.ended {
		return
	}
	c, since := w.t.c, w.t.c.sinceStart()
	select {
	case <-w.grant:
		w.state = heavy
	default:
		select {
		case <-w.grant:
			w.state = heavy
		case <-w.done:
			w.ended = true
			w.leaveQueue()
		}
	}
	w.last, w.turn, w.quantum = c.sinceStart(), 0, 0
	c.yielded.Add(int64(w.last - since))
}

// leaveQueue removes the worker from the queue, or accepts the grant that it received in
// the meantime.
func (w *Worker) leaveQueue() {
	c := w.t.c
	c.mu.Lock()
	defer c.mu.Unlock()
	is := func(o *Worker) bool { return o == w }
	w.t.parked = slices.DeleteFunc(w.t.parked, is)
	c.mu.queue = slices.DeleteFunc(c.mu.queue, is)
	select {
	case <-w.grant:
		w.state = heavy
	default:
	}
}
