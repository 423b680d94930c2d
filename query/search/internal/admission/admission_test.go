package admission

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// workFor calls Step for a duration, with pieces of work of the size that a search has.
func workFor(w *Worker, d time.Duration) bool {
	for ; d > 0; d -= piece {
		<-time.After(piece) // in the bubble: no real time passes
		if !w.Step() {
			return false
		}
	}
	return true
}

const piece = 50 * time.Microsecond

func enterSearch(t *testing.T, c *Controller) *Ticket {
	t.Helper()
	ticket, err := c.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

// heavySearch returns a search with one worker that has become heavy.
func heavySearch(t *testing.T, c *Controller, done <-chan struct{}) (*Ticket, *Worker) {
	t.Helper()
	ticket := enterSearch(t, c)
	w := ticket.Worker(done)
	if !workFor(w, c.o.Slice+2*flushInterval) || !w.Heavy() || !ticket.Heavy() {
		t.Fatal("the search is not heavy after its slice")
	}
	return ticket, w
}

func TestSearchBecomesHeavyAndGivesItsSlotAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{Processors: 2, MaxInteractive: 1})
		ticket, w := heavySearch(t, c, nil)
		second := enterSearch(t, c) // the only slot is free
		if n := c.Counts(); n.Interactive != 1 || n.Heavy != 1 || n.Demotions != 1 {
			t.Fatalf("counts %+v", n)
		}
		w.End()
		ticket.Leave()
		second.Leave()
		if n := c.Counts(); n.Interactive != 0 || n.Heavy != 0 {
			t.Fatalf("counts at the end %+v", n)
		}
	})
}

// TestSliceIsShorterWhenOthersWait checks that slices are shorter while many searches
// wait.
func TestSliceIsShorterWhenOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{Processors: 2, MaxInteractive: 1})
		ticket := enterSearch(t, c)
		w := ticket.Worker(nil)
		var group sync.WaitGroup
		group.Go(func() { enterSearch(t, c).Leave() })
		synctest.Wait()
		if !workFor(w, c.o.Slice/4+2*flushInterval) || !w.Heavy() {
			t.Error("the search keeps its slot although another waits")
		}
		group.Wait()
		w.End()
		ticket.Leave()
	})
}

// TestHeavyAloneNeverWaits checks that a heavy search that runs alone never waits.
func TestHeavyAloneNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{Processors: 2})
		ticket, w := heavySearch(t, c, nil)
		defer ticket.Leave()
		defer w.End()
		start := time.Now()
		if !workFor(w, time.Second) || time.Since(start) != time.Second || c.Counts().Yielded != 0 {
			t.Fatalf("a second of work took %v, %+v", time.Since(start), c.Counts())
		}
	})
}

// measureHeavyShare runs n interactive workers and returns how much of a second a heavy
// worker gets.
func measureHeavyShare(t *testing.T, processors, n int) (worked time.Duration) {
	c := New(Options{Processors: processors})
	ticket, w := heavySearch(t, c, nil)
	for range n {
		other := enterSearch(t, c)
		o := other.Worker(nil)
		defer other.Leave()
		defer o.End()
	}
	for start := time.Now(); time.Since(start) < time.Second; worked += piece {
		workFor(w, piece)
	}
	w.End()
	ticket.Leave()
	return worked
}

func TestHeavyRunsOnWhatIsLeft(t *testing.T) {
	for _, c := range []struct {
		processors, interactive int
		least, most             time.Duration
	}{
		{2, 0, time.Second, time.Second},
		{2, 1, time.Second, time.Second},
		{2, 2, 150 * time.Millisecond, 250 * time.Millisecond}, // the floor share
		{2, 6, 150 * time.Millisecond, 250 * time.Millisecond},
		{1, 1, 150 * time.Millisecond, 250 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			if got := measureHeavyShare(t, c.processors, c.interactive); got < c.least || got > c.most {
				t.Errorf("%d processors, %d interactive: %v of a second, want %v to %v", c.processors, c.interactive, got, c.least, c.most)
			}
		})
	}
}

// TestHeavyTakeTurns checks that heavy workers take turns on one processor.
func TestHeavyTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{Processors: 1, MaxHeavy: 3})
		done := make(chan struct{})
		var group sync.WaitGroup
		worked := make([]time.Duration, 3)
		for i := range worked {
			ticket := enterSearch(t, c)
			group.Go(func() {
				w := ticket.Worker(done)
				for workFor(w, piece) {
					if w.Heavy() {
						worked[i] += piece
					}
				}
				w.End()
				ticket.Leave()
			})
		}
		<-time.After(time.Second)
		close(done)
		group.Wait()
		for i, d := range worked {
			if d < 250*time.Millisecond || d > 350*time.Millisecond {
				t.Errorf("search %d worked %v of a second: %v", i, d, worked)
			}
		}
	})
}

// TestShortHeavyBesideLongOnes checks that a search of a few turns is not as slow as very
// long ones.
func TestShortHeavyBesideLongOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{Processors: 1})
		done := make(chan struct{})
		var group sync.WaitGroup
		for range 16 {
			ticket := enterSearch(t, c)
			group.Go(func() {
				w := ticket.Worker(done)
				for workFor(w, piece) {
				}
				w.End()
				ticket.Leave()
			})
			<-time.After(40 * time.Millisecond)
		}
		<-time.After(5 * time.Second)
		ticket := enterSearch(t, c)
		start := time.Now()
		w := ticket.Worker(nil)
		workFor(w, c.o.Slice+10*turnDuration)
		if took := time.Since(start); took > 400*time.Millisecond { // with strict turns it would be 850
			t.Errorf("%v of work took %v", c.o.Slice+10*turnDuration, took)
		}
		w.End()
		ticket.Leave()
		close(done)
		group.Wait()
	})
}

// TestHeavySlotsAreBounded checks that searches get heavy slots in order, and are refused
// if too many wait.
func TestHeavySlotsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{Processors: 2, MaxHeavy: 1, MaxHeavyWaiting: 1})
		first, w1 := heavySearch(t, c, nil)
		var group sync.WaitGroup
		second := enterSearch(t, c)
		group.Go(func() {
			w := second.Worker(nil)
			if !workFor(w, c.o.Slice+2*flushInterval) || !w.Heavy() {
				t.Error("the second search got no slot")
			}
			w.End()
			second.Leave()
		})
		<-time.After(time.Second)
		if n := c.Counts(); n.Heavy != 1 || n.HeavyWaiting != 1 {
			t.Fatalf("counts %+v", n)
		}
		third := enterSearch(t, c)
		w3 := third.Worker(nil)
		if workFor(w3, time.Second) || !errors.Is(third.Err(), ErrBusy) {
			t.Fatalf("the third search goes on: %v", third.Err())
		}
		w3.End()
		third.Leave()
		w1.End()
		first.Leave()
		group.Wait()
		if n := c.Counts(); n.Heavy != 0 || n.HeavyWaiting != 0 || n.Refusals != 1 || n.Interactive != 0 {
			t.Fatalf("counts at the end %+v", n)
		}
	})
}

func TestWaitEndsWithDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{Processors: 1, MaxHeavy: 1})
		first, w1 := heavySearch(t, c, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		second := enterSearch(t, c)
		w := second.Worker(ctx.Done())
		if workFor(w, time.Minute) || ctx.Err() == nil {
			t.Fatal("the worker stopped waiting without a grant")
		}
		w.End()
		second.Leave()
		w1.End()
		first.Leave()
		if c.mu.heavy != 0 || len(c.mu.queue) != 0 || c.mu.interactive != 0 {
			t.Fatalf("left behind: %d run, %d wait", c.mu.heavy, len(c.mu.queue))
		}
	})
}

func TestEnter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{Processors: 1, MaxInteractive: 1, MaxWaiting: 1, MaxWait: time.Second})
		ticket := enterSearch(t, c)
		start := time.Now()
		if _, err := c.Enter(t.Context()); !errors.Is(err, ErrBusy) || time.Since(start) != time.Second {
			t.Fatalf("%v after %v", err, time.Since(start))
		}
		var group sync.WaitGroup
		group.Go(func() { enterSearch(t, c).Leave() })
		synctest.Wait()
		if _, err := c.Enter(t.Context()); !errors.Is(err, ErrBusy) {
			t.Fatalf("one more than may wait: %v", err)
		}
		ticket.Leave()
		group.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		ticket = enterSearch(t, c)
		if _, err := c.Enter(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("a client that has left: %v, want %v", err, context.Canceled)
		}
		ticket.Leave()
	})
}

// TestCancelStorm checks that nothing leaks when workers of many searches start, stop,
// wait and are canceled, in any order.
func TestCancelStorm(t *testing.T) {
	c := New(Options{Processors: 2, MaxInteractive: 4, MaxHeavy: 2, MaxHeavyWaiting: 2, Slice: time.Microsecond})
	var group sync.WaitGroup
	for i := range 64 {
		group.Go(func() {
			ticket, err := c.Enter(t.Context())
			if err != nil {
				return // refused: too many are waiting
			}
			defer ticket.Leave()
			done := make(chan struct{})
			var workers sync.WaitGroup
			for range 3 {
				workers.Go(func() {
					w := ticket.Worker(done)
					defer w.End()
					w.worked = flushInterval
					for range 1000 + i {
						if !w.Step() {
							return
						}
						w.turn = turnDuration
					}
				})
			}
			if i%2 == 0 {
				close(done)
			}
			workers.Wait()
		})
	}
	group.Wait()
	n := c.Counts()
	if n.Interactive != 0 || n.Waiting != 0 || n.Heavy != 0 || n.HeavyWaiting != 0 || c.mu.heavy != 0 || c.mu.interactive != 0 || len(c.mu.queue) != 0 {
		t.Fatalf("left over: %+v", n)
	}
}
