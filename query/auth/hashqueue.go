package auth

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/schemas/network"
)

// hashTurn names the share of the hash queue that a computation belongs to. Anyone can
// have passwords of made-up users checked, from as many addresses as they have, so the
// shares take turns, and those of trusted callers do so apart from the others.
type hashTurn struct {
	trusted bool
	share   string
}

// turnOfStranger returns the turn of a caller who has shown nothing yet: one share for
// each address.
func turnOfStranger(address string) hashTurn {
	return hashTurn{share: network.ClientNetwork(address)}
}

// turnOfUser returns the turn of a user who is signed in, or who has a session from the
// network of the request. A turn must not depend on the user's existence alone, or the
// time of an answer would reveal which users exist.
func turnOfUser(id string) hashTurn { return hashTurn{trusted: true, share: "user " + id} }

// turnOfNewcomer returns the turn of a caller with a valid invitation or setup link.
func turnOfNewcomer(address string) hashTurn {
	return hashTurn{trusted: true, share: "newcomer " + network.ClientNetwork(address)}
}

// hashQueue gives slots to waiters: trusted ones and others in turn, within them each
// share in turn, and within a share in the order of arrival. If it is full, a new waiter
// displaces one of a share with more waiters, and a trusted one displaces a stranger.
type hashQueue struct {
	maxWaiting int
	mu         struct {
		sync.Mutex
		free, waiting int
		trusted       hashLane
		strangers     hashLane
		strangersNext bool
	}
}

// hashWaiter waits for a slot.
type hashWaiter struct {
	turn hashTurn
	// outcome gets nil with a slot, or ErrBusy if the waiter was displaced.
	outcome chan error
}

func newHashQueue(slots, maxWaiting int) *hashQueue {
	q := &hashQueue{maxWaiting: maxWaiting}
	q.mu.free = slots
	q.mu.trusted.waiters = map[string][]*hashWaiter{}
	q.mu.strangers.waiters = map[string][]*hashWaiter{}
	return q
}

// acquire waits for a slot, up to a timeout. The caller must call release if it returns
// nil.
func (q *hashQueue) acquire(ctx context.Context, turn hashTurn, timeout time.Duration) error {
	w, err := q.enter(turn)
	if w == nil {
		return err
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case err := <-w.outcome:
		return err
	case <-timer.C:
		err = ErrBusy
	case <-ctx.Done():
		err = ctx.Err()
	}
	if !q.leave(w) { // it was decided at the same moment
		if decided := <-w.outcome; decided == nil {
			q.release()
		}
	}
	return err
}

// enter takes a free slot and returns nil, or returns a waiter. It returns ErrBusy if the
// queue is full of waiters that may not be displaced.
func (q *hashQueue) enter(turn hashTurn) (*hashWaiter, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.free > 0 {
		q.mu.free--
		return nil, nil
	}
	if q.mu.waiting >= q.maxWaiting && !q.displaceLocked(turn) {
		return nil, ErrBusy
	}
	w := &hashWaiter{turn, make(chan error, 1)}
	q.laneLocked(turn).push(w)
	q.mu.waiting++
	return w, nil
}

func (q *hashQueue) laneLocked(turn hashTurn) *hashLane {
	if turn.trusted {
		return &q.mu.trusted
	}
	return &q.mu.strangers
}

// displaceLocked refuses a waiter that has to make room for turn, if there is one.
func (q *hashQueue) displaceLocked(turn hashTurn) bool {
	lane := &q.mu.strangers
	least := 1 // the smallest share that loses a waiter
	if lane.isEmpty() || !turn.trusted {
		lane = q.laneLocked(turn)
		least = len(lane.waiters[turn.share]) + 2 // still as large as that of turn afterwards
	}
	share, size := lane.largestShare()
	if size < least {
		return false
	}
	last := lane.waiters[share][size-1]
	lane.remove(last)
	q.mu.waiting--
	last.outcome <- ErrBusy
	return true
}

// leave removes a waiter. It returns false if its outcome was decided before.
func (q *hashQueue) leave(w *hashWaiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.laneLocked(w.turn).remove(w) {
		return false
	}
	q.mu.waiting--
	return true
}

// release gives a slot to the next waiter, or frees it.
func (q *hashQueue) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	first, second := &q.mu.trusted, &q.mu.strangers
	if q.mu.strangersNext {
		first, second = second, first
	}
	if first.isEmpty() {
		first = second
	}
	if first.isEmpty() {
		q.mu.free++
		return
	}
	q.mu.strangersNext = first == &q.mu.trusted
	q.mu.waiting--
	first.pop().outcome <- nil
}

// hashLane contains the waiters of several shares, which take turns.
type hashLane struct {
	order   []string // shares with waiters, the next one first
	waiters map[string][]*hashWaiter
}

func (l *hashLane) isEmpty() bool { return len(l.order) == 0 }

func (l *hashLane) push(w *hashWaiter) {
	share := w.turn.share
	if len(l.waiters[share]) == 0 {
		l.order = append(l.order, share)
	}
	l.waiters[share] = append(l.waiters[share], w)
}

// pop removes the next waiter. The lane must not be empty.
func (l *hashLane) pop() *hashWaiter {
	share := l.order[0]
	w := l.waiters[share][0]
	l.remove(w)
	if len(l.waiters[share]) > 0 { // the share's next turn comes after those of all others
		l.order = append(l.order[1:], share)
	}
	return w
}

// remove removes a waiter. It returns false if the waiter is not in the lane.
func (l *hashLane) remove(w *hashWaiter) bool {
	share := w.turn.share
	i := slices.Index(l.waiters[share], w)
	if i < 0 {
		return false
	}
	if l.waiters[share] = slices.Delete(l.waiters[share], i, i+1); len(l.waiters[share]) == 0 {
		delete(l.waiters, share)
		at := slices.Index(l.order, share)
		l.order = slices.Delete(l.order, at, at+1)
	}
	return true
}

// largestShare returns a share with the most waiters, and their number.
func (l *hashLane) largestShare() (share string, size int) {
	for _, s := range l.order {
		if n := len(l.waiters[s]); n > size {
			share, size = s, n
		}
	}
	return share, size
}
