package admission

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quarrysearch/quarry/schemas/tracing"
)

// ErrBusy means that there are too many searches.
var ErrBusy = errors.New("too many searches at once")

// Options configure a Controller. The zero value works.
type Options struct {
	// Processors is the number of processors that searches share. Default GOMAXPROCS.
	Processors int
	// MaxInteractive is the number of slots, and so the maximum number of concurrent
	// interactive searches. Default four per processor.
	MaxInteractive int
	// MaxWaiting bounds the searches that wait for a slot, and MaxWait how long they
	// wait. Defaults 256 and 10 s.
	MaxWaiting int
	MaxWait    time.Duration
	// MaxHeavy is the number of heavy slots, and so the maximum number of heavy searches that
	// take turns. MaxHeavyWaiting bounds those that wait for one. Defaults 32 per
	// processor, so that a search of a second need not wait for one of a minute to end,
	// and 64.
	MaxHeavy, MaxHeavyWaiting int
	// Slice is the total work of all its workers after which a search becomes heavy. A
	// quarter of it suffices while another search waits for a slot. Default 25 ms.
	Slice time.Duration
}

func (o *Options) ensureDefaults() {
	if o.Processors <= 0 {
		o.Processors = runtime.GOMAXPROCS(0)
	}
	if o.MaxInteractive <= 0 {
		o.MaxInteractive = 4 * o.Processors
	}
	if o.MaxWaiting <= 0 {
		o.MaxWaiting = 256
	}
	if o.MaxWait <= 0 {
		o.MaxWait = 10 * time.Second
	}
	if o.MaxHeavy <= 0 {
		o.MaxHeavy = 32 * o.Processors
	}
	if o.MaxHeavyWaiting <= 0 {
		o.MaxHeavyWaiting = 64
	}
	if o.Slice <= 0 {
		o.Slice = 25 * time.Millisecond
	}
}

const (
	// turnDuration is how long a heavy worker keeps a processor that another heavy worker
	// waits for.
	turnDuration = 5 * time.Millisecond
	// yieldInterval is the interval at which a heavy worker yields to other runnable
	// goroutines, such as the handler of a new request.
	yieldInterval = 250 * time.Microsecond
	// While interactive workers use all processors, one heavy worker runs for floorRun
	// after each floorPause: a fifth of one processor.
	floorRun   = time.Millisecond
	floorPause = 4 * time.Millisecond
)

// A Controller admits searches.
type Controller struct {
	o       Options
	start   time.Time
	slots   chan struct{} // one for each interactive search
	waiting atomic.Int64  // for a slot
	// excess means that a heavy worker must yield.
	excess atomic.Bool

	demotions, refusals atomic.Int64
	yielded             atomic.Int64 // nanoseconds

	mu struct {
		sync.Mutex
		interactive   int       // interactive workers that run
		heavy         int       // heavy workers that run
		floor         bool      // one heavy worker has the floor share
		armed         bool      // the timer of the floor share is running
		queue         []*Worker // heavy workers that wait for a processor
		heavySearches int       // searches with a heavy slot
		heavyWaiting  []*Ticket // searches that wait for one
		grants        int       // processors given to heavy workers so far
	}
}

// New returns a Controller.
func New(o Options) *Controller {
	o.ensureDefaults()
	return &Controller{o: o, start: time.Now(), slots: make(chan struct{}, o.MaxInteractive)}
}

// Enter waits for a slot. It fails with ErrBusy, or the error of ctx.
func (c *Controller) Enter(ctx context.Context) (ticket *Ticket, err error) {
	select {
	case c.slots <- struct{}{}:
		return newTicket(c), nil
	default:
	}
	_, span := tracing.Start(ctx, "wait for a slot")
	defer func() { span.End(err) }()
	if n := c.waiting.Add(1); n > int64(c.o.MaxWaiting) {
		c.waiting.Add(-1)
		return nil, c.countRefusal(fmt.Errorf("%w: %d wait for a slot already", ErrBusy, c.o.MaxWaiting))
	}
	defer c.waiting.Add(-1)
	timer := time.NewTimer(c.o.MaxWait)
	defer timer.Stop()
	select {
	case c.slots <- struct{}{}:
		return newTicket(c), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		return nil, c.countRefusal(fmt.Errorf("%w: none of %d slots came free in %v", ErrBusy, c.o.MaxInteractive, c.o.MaxWait))
	}
}

func (c *Controller) countRefusal(err error) error {
	c.refusals.Add(1)
	return err
}

// Counts is the current and past activity of a Controller.
type Counts struct {
	// Interactive is the number of searches with a slot, Waiting of those that wait for
	// one.
	Interactive, Waiting int
	// Heavy is the number of heavy searches with a heavy slot, HeavyWaiting of those that wait
	// for one.
	Heavy, HeavyWaiting int
	// Demotions of searches to heavy ones, and Refusals with ErrBusy, since the start.
	Demotions, Refusals int64
	// Yielded is the total time that heavy workers waited for a processor.
	Yielded time.Duration
}

// Counts returns the current counts.
func (c *Controller) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Counts{
		Interactive: len(c.slots), Waiting: int(c.waiting.Load()), Heavy: c.mu.heavySearches, HeavyWaiting: len(c.mu.heavyWaiting),
		Demotions: c.demotions.Load(), Refusals: c.refusals.Load(), Yielded: time.Duration(c.yielded.Load()),
	}
}

// sliceLimit returns the work after which a search becomes heavy.
func (c *Controller) sliceLimit() time.Duration {
	if c.waiting.Load() > 0 {
		return c.o.Slice / 4
	}
	return c.o.Slice
}

// sinceStart returns the time since the Controller was created, by the monotonic clock.
func (c *Controller) sinceStart() time.Duration { return time.Since(c.start) }

// interactiveLocked records that interactive workers began or ended. c.mu must be held.
func (c *Controller) interactiveLocked(change int) {
	c.mu.interactive += change
	c.dispatchLocked()
}

// freeLocked returns the number of processors that interactive workers leave free. c.mu
// must be held.
func (c *Controller) freeLocked() int { return max(c.o.Processors-c.mu.interactive, 0) }

// dispatchLocked grants free processors to waiting heavy workers, or requests that one
// yield. c.mu must be held.
func (c *Controller) dispatchLocked() {
	free := c.freeLocked()
	for c.mu.heavy < free && len(c.mu.queue) > 0 {
		c.grantLocked()
	}
	if free > 0 {
		c.mu.floor = false
	}
	share := 0
	if c.mu.floor {
		share = 1
	}
	c.excess.Store(c.mu.heavy > free+share)
	if c.mu.heavy == 0 && len(c.mu.queue) > 0 && !c.mu.armed {
		c.mu.armed = true
		time.AfterFunc(floorPause, c.grantFloor)
	}
}

// grantLocked grants a processor alternately to the worker that has waited longest, so
// that none starves, and to the search that has worked least, so that a search of one
// second is not as slow as one of a minute. c.mu must be held.
func (c *Controller) grantLocked() {
	i := 0
	if c.mu.grants++; c.mu.grants%2 == 0 {
		for j, w := range c.mu.queue {
			if w.t.attained < c.mu.queue[i].t.attained {
				i = j
			}
		}
	}
	w := c.mu.queue[i]
	c.mu.queue = slices.Delete(c.mu.queue, i, i+1)
	c.mu.heavy++
	w.grant <- struct{}{} // does not block: a worker waits for one grant at a time
}

// grantFloor lets one heavy worker run although no processor is free.
func (c *Controller) grantFloor() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.armed = false
	if c.mu.heavy == 0 && len(c.mu.queue) > 0 {
		c.mu.floor = true
		c.grantLocked()
	}
	c.dispatchLocked()
}
