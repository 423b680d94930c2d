package auth_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
)

// floodHasher makes attempts from addresses, ten at a time from each, until ctx ends.
// Each hash takes 50 ms on the clock of the bubble.
func floodHasher(ctx context.Context, h auth.Hasher, addresses int) (ended *sync.WaitGroup) {
	ended = new(sync.WaitGroup)
	for n := range 10 * addresses {
		ended.Go(func() {
			for ctx.Err() == nil {
				release, err := h.AcquireFor(ctx, false, fmt.Sprint("198.51.100.", n%addresses))
				if err != nil {
					<-time.After(time.Second)
					continue
				}
				<-time.After(50 * time.Millisecond)
				release()
			}
		})
	}
	return ended
}

// TestMadeUpSignInsLeaveRoom checks that sign-ins with made-up names from 60 addresses
// keep neither known users nor a new address from hashing within the time that they wait.
// With more addresses than the queue has room for, users with a session from their
// network still get their turn.
func TestMadeUpSignInsLeaveRoom(t *testing.T) {
	const honest = 11
	for _, c := range []struct {
		addresses int
		trusted   bool
	}{{60, true}, {60, false}, {1000, true}} {
		synctest.Test(t, func(t *testing.T) {
			h := auth.NewHasher(auth.Hashing{})
			ctx, stop := context.WithCancel(t.Context())
			flood := floodHasher(ctx, h, c.addresses)
			synctest.Wait()
			<-time.After(10 * time.Second)
			var wait sync.WaitGroup
			for n := range honest {
				wait.Go(func() {
					release, err := h.AcquireFor(t.Context(), c.trusted, fmt.Sprint("share ", n))
					if err != nil {
						t.Errorf("honest sign-in %d, trusted %t, during a flood from %d addresses: %v", n, c.trusted, c.addresses, err)
						return
					}
					<-time.After(50 * time.Millisecond)
					release()
				})
			}
			wait.Wait()
			stop()
			flood.Wait()
		})
	}
}

// TestSharesTakeTurns checks the order in which waiters get the slot: trusted ones and
// others in turn, and within them each share in turn.
func TestSharesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := auth.NewHasher(auth.Hashing{MemoryKiB: 8, Passes: 1, Concurrency: 1, Waiting: 100, Wait: time.Hour})
		release, err := h.AcquireFor(t.Context(), false, "first")
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		var wait sync.WaitGroup
		for _, w := range []struct {
			trusted bool
			share   string
		}{{false, "a"}, {false, "a"}, {false, "a"}, {false, "b"}, {true, "u"}, {true, "u"}, {true, "v"}} {
			wait.Go(func() {
				release, err := h.AcquireFor(t.Context(), w.trusted, w.share)
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, w.share) // one at a time
				release()
			})
			synctest.Wait()
		}
		release()
		wait.Wait()
		if got := fmt.Sprint(order); got != "[u a v b u a a]" {
			t.Errorf("%s, want [u a v b u a a]", got)
		}
	})
}

// TestFullHashQueue checks who is refused if the queue is full: the share with the most
// waiters, and strangers before trusted ones. Those who leave make room.
func TestFullHashQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := auth.NewHasher(auth.Hashing{MemoryKiB: 8, Passes: 1, Concurrency: 1, Waiting: 3, Wait: time.Hour})
		release, err := h.AcquireFor(t.Context(), false, "first")
		if err != nil {
			t.Fatal(err)
		}
		outcomes := map[string]chan error{}
		enter := func(ctx context.Context, name string, trusted bool, share string) {
			outcome := make(chan error, 1)
			outcomes[name] = outcome
			go func() {
				release, err := h.AcquireFor(ctx, trusted, share)
				if err == nil {
					release()
				}
				outcome <- err
			}()
			synctest.Wait()
		}
		refused := func(name string) bool {
			select {
			case err := <-outcomes[name]:
				if !errors.Is(err, auth.ErrBusy) {
					t.Errorf("%s: %v", name, err)
				}
				return true
			default:
				return false
			}
		}
		leaving, leave := context.WithCancel(t.Context())
		enter(leaving, "a1", false, "a")
		enter(t.Context(), "a2", false, "a")
		enter(t.Context(), "b1", false, "b")
		enter(t.Context(), "c1", false, "c") // displaces a2
		enter(t.Context(), "d1", false, "d") // everyone has one
		enter(t.Context(), "u1", true, "u")  // displaces a stranger
		strangers := 0
		for _, name := range []string{"a1", "b1", "c1"} {
			if refused(name) {
				strangers++
			}
		}
		if !refused("a2") || !refused("d1") || refused("u1") || strangers != 1 {
			t.Errorf("the wrong ones were refused, and %d of three strangers for a trusted one", strangers)
		}
		leave()
		synctest.Wait()
		release()
		synctest.Wait()
		if err := <-outcomes["u1"]; err != nil {
			t.Errorf("a trusted one: %v", err)
		}
		again, err := h.AcquireFor(t.Context(), false, "e")
		if err != nil {
			t.Fatal(err)
		}
		again()
	})
}
