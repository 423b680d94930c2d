package auth

import (
	"sync"
	"time"

	"github.com/quarrysearch/quarry/schemas/lru"
	"github.com/quarrysearch/quarry/schemas/network"
)

// Bounds of failed sign-ins. An attempt counts when it begins, and is uncounted if it
// succeeds, so that concurrent attempts do not bypass the bounds.
//
// An account is throttled separately for each address: guessing locks out the attacker,
// not the user of the account. To bound guessing from many addresses, too, an account has
// a limit over all addresses except those from which its user has signed in before.
const (
	// failuresOfPair are free for an account from one address, failuresOfAddress for all
	// accounts from one address, and failuresOfAccount for an account from all addresses
	// unknown to it.
	failuresOfPair    = 5
	failuresOfAddress = 50
	failuresOfAccount = 100
	// firstDelay follows the last free failure, and each further failure doubles the
	// delay, up to maxDelay. For a whole account it grows up to maxAccountDelay, which
	// leaves its user a chance from any address.
	firstDelay      = time.Second
	maxDelay        = 15 * time.Minute
	maxAccountDelay = 30 * time.Second
	// A failure of a pair is forgotten after drainOfPair, one of an address or an account
	// after drainOfOthers: many people may share an address.
	drainOfPair   = 15 * time.Minute
	drainOfOthers = time.Minute
	// maxDoublings bounds the failures counted beyond the free ones, so that the delays
	// end soon after the failures do.
	maxDoublings = 12
	// maxThrottled bounds the entries; beyond it the least recently used one is dropped.
	// An attacker with that many addresses is limited by the cost of hashing.
	maxThrottled = 20_000
)

// throttle counts failures. The zero value is not usable; see newThrottle.
type throttle struct {
	metrics *metrics
	mu      struct {
		sync.Mutex
		failures *lru.Cache[string, *failures]
	}
}

type failures struct {
	count   int
	last    time.Time
	blocked time.Time // end of the delay
}

// limit is one of the bounds of an attempt.
type limit struct {
	name  string
	free  int
	drain time.Duration
	max   time.Duration
}

func newThrottle(m *metrics) *throttle {
	t := &throttle{metrics: m}
	t.mu.failures = lru.New[string, *failures](maxThrottled)
	return t
}

// limitsOf returns the bounds of an attempt on account from address; account may be
// empty.
func limitsOf(account, address string, known bool) []limit {
	address = network.ClientNetwork(address)
	limits := []limit{{"address " + address, failuresOfAddress, drainOfOthers, maxDelay}}
	if account == "" {
		return limits
	}
	limits = append(limits, limit{"pair " + address + " " + account, failuresOfPair, drainOfPair, maxDelay})
	if !known {
		limits = append(limits, limit{"account " + account, failuresOfAccount, drainOfOthers, maxAccountDelay})
	}
	return limits
}

// beginAttempt counts an attempt, or returns an error with the time to wait.
func (t *throttle) beginAttempt(limits []limit, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var wait time.Duration
	for _, l := range limits {
		if f, known := t.mu.failures.Get(l.name); known {
			wait = max(wait, f.blocked.Sub(now))
		}
	}
	if wait > 0 {
		t.metrics.throttled.Inc()
		return &ThrottledError{RetryAfter: wait}
	}
	for _, l := range limits {
		t.countLocked(l, now)
	}
	return nil
}

func (t *throttle) countLocked(l limit, now time.Time) {
	f, known := t.mu.failures.Get(l.name)
	if !known {
		f = &failures{}
		t.mu.failures.Put(l.name, f, 1)
	}
	f.count = max(f.count-int(now.Sub(f.last)/l.drain), 0)
	f.count, f.last = min(f.count+1, l.free+maxDoublings), now
	if f.count >= l.free {
		f.blocked = now.Add(failureDelay(f.count-l.free, l.max))
	}
}

// failureDelay returns the delay, which doubles with each failure.
func failureDelay(doublings int, most time.Duration) time.Duration {
	return min(firstDelay<<doublings, most)
}

// forgetAttempt uncounts an attempt that succeeded or was not a real attempt. If it
// succeeded, it also clears the failures of the pair. It keeps those of the address;
// otherwise anyone with one account could guess others without limit.
func (t *throttle) forgetAttempt(limits []limit, succeeded bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, l := range limits {
		f, known := t.mu.failures.Get(l.name)
		if !known {
			continue
		}
		if f.count--; f.count <= 0 || succeeded && i == 1 {
			t.mu.failures.Delete(l.name)
			continue
		}
		f.blocked = time.Time{}
		if f.count >= l.free {
			f.blocked = f.last.Add(failureDelay(f.count-l.free, l.max))
		}
	}
}
