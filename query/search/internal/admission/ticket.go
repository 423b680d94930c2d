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
	seat     bool
	left     bool
	attained time.Duration // work of its heavy workers
	parked   []*Worker     // workers of a search without a seat
}

func newTicket(c *Controller) *Ticket { return &Ticket{c: c} }

// Heavy reports whether the search has become heavy.
func (t *Ticket) Heavy() bool { return t.heavy.Load() }

// Processors returns how many workers of a search can run at once.
func (t *Ticket) Processors() int { return t.c.o.Processors }

// Err returns why the search has to end: ErrBusy where it became heavy and too
// many wait for a seat; else nil.
func (t *Ticket) Err() error {
	if e := t.err.Load(); e != nil {
		return *e
	}
	return nil
}

// Leave gives back what the search has. A worker that remains, because it renders
// what the others found, goes on as one of the search's class. Leaving twice does
// no harm.
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
		<-c.places
	case t.seat:
		t.seat = false
		c.mu.seated--
		c.seatLocked()
	default:
		c.mu.standing = slices.DeleteFunc(c.mu.standing, func(o *Ticket) bool { return o == t })
	}
}

// unparkLocked lets the workers that wait for a seat wait for a processor.
func (t *Ticket) unparkLocked() {
	t.c.mu.queue = append(t.c.mu.queue, t.parked...)
	t.parked = nil
	t.c.dispatchLocked()
}

// demoteLocked makes the search heavy: its place is free, and it has or waits for
// a seat.
func (t *Ticket) demoteLocked() {
	c := t.c
	t.heavy.Store(true)
	c.demotions.Add(1)
	if t.left {
		return
	}
	<-c.places
	if c.mu.seated == c.o.MaxHeavy && len(c.mu.standing) >= c.o.MaxHeavyWaiting {
		err := c.countRefusal(fmt.Errorf("%w: %d that take long wait already", ErrBusy, c.o.MaxHeavyWaiting))
		t.err.Store(&err)
		return
	}
	c.mu.standing = append(c.mu.standing, t)
	c.seatLocked()
}

// seatLocked gives free seats to searches that wait, in order.
func (c *Controller) seatLocked() {
	for c.mu.seated < c.o.MaxHeavy && len(c.mu.standing) > 0 {
		t := c.mu.standing[0]
		c.mu.standing = slices.Delete(c.mu.standing, 0, 1)
		t.seat = true
		c.mu.seated++
		t.unparkLocked()
	}
}

// A Worker is a goroutine of a search. It is made running.
type Worker struct {
	t     *Ticket
	done  <-chan struct{}
	grant chan struct{} // a processor, for a heavy worker
	state state
	ended bool // done is closed, or the search was refused

	last    time.Duration // of the latest Step
	worked  time.Duration // not yet in the ticket's
	turn    time.Duration // work since the processor was granted
	quantum time.Duration // work since others were let run
}

// state says what a Worker holds.
type state uint8

const (
	paused state = iota
	interactive
	heavy
)

// Worker begins a worker, which waits for a processor if the search is heavy. Once
// done is closed, its work is no longer needed.
func (t *Ticket) Worker(done <-chan struct{}) *Worker {
	w := &Worker{t: t, done: done, grant: make(chan struct{}, 1)}
	w.Resume()
	return w
}

// maxStep bounds the work counted between two Steps: beyond it the goroutine
// most likely was not running.
const maxStep = time.Millisecond

// flushInterval is how often a worker's count is added to that of its search.
const flushInterval = 500 * time.Microsecond

// Step is called between two pieces of work, each of which takes some ten
// microseconds. It returns when the worker may go on, and reports whether its work
// is still needed.
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

// addWork adds up the work of the search, and makes it heavy when it was enough.
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

// Heavy reports whether the worker is one of a heavy search, and knows it.
func (w *Worker) Heavy() bool { return w.state == heavy }

// End ends the worker.
func (w *Worker) End() { w.Pause() }

// Resume is the opposite of Pause; it waits as Step does.
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

// queueLocked puts the worker at the end of the queue.
func (w *Worker) queueLocked() {
	c := w.t.c
	if w.t.Err() != nil {
		w.ended = true
		return
	}
	if !w.t.seat && !w.t.left {
		w.t.parked = append(w.t.parked, w)
		return
	}
	c.mu.queue = append(c.mu.queue, w)
	c.dispatchLocked()
}

// awaitGrant returns with a processor, or with ended.
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

// leaveQueue removes the worker from the queue, or accepts the grant that it got
// meanwhile.
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
