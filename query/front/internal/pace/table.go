package pace

import (
	"sync"
	"time"

	"github.com/quarrysearch/quarry/schemas/lru"
)

// Limit is a rate limit. A PerSecond of 0 means no limit.
type Limit struct {
	PerSecond int
	// Burst is how many requests may arrive at the same time; at least 1.
	Burst int
}

// Unlimited reports whether l admits every request.
func (l Limit) Unlimited() bool { return l.PerSecond <= 0 }

// Decision is the result of a request.
type Decision struct {
	Allowed bool
	// Remaining is how many requests of cost 1 would pass now.
	Remaining int
	// Reset is the time until the full burst is available again.
	Reset time.Duration
	// Wait is the time until the request would pass; 0 if it was allowed.
	Wait time.Duration
}

// Table remembers the recent requests of callers.
type Table struct {
	mu struct {
		sync.Mutex
		// paid holds, by caller, the time at which its past requests are paid back.
		paid *lru.Cache[string, time.Time]
	}
}

// New returns a table of at most limit callers.
func New(limit int) *Table {
	t := &Table{}
	t.mu.paid = lru.New[string, time.Time](int64(max(limit, 1)))
	return t
}

// Take charges cost to key under l. A cost above the burst counts as the burst.
func (t *Table) Take(key string, l Limit, cost int, now time.Time) Decision {
	if l.Unlimited() {
		return Decision{Allowed: true}
	}
	burst := max(l.Burst, 1)
	interval := time.Second / time.Duration(l.PerSecond)
	window := interval * time.Duration(burst)
	t.mu.Lock()
	defer t.mu.Unlock()
	paid, known := t.mu.paid.Get(key)
	if !known {
		t.mu.paid.Put(key, now, 1)
	}
	if paid.Before(now) {
		paid = now
	}
	// A clock that was set back must not block callers for long.
	if most := now.Add(window); paid.After(most) {
		paid = most
	}
	next := paid.Add(interval * time.Duration(min(cost, burst)))
	ahead := next.Sub(now)
	if ahead > window {
		return Decision{Remaining: int((window - paid.Sub(now)) / interval), Reset: paid.Sub(now), Wait: ahead - window}
	}
	t.mu.paid.Put(key, next, 1)
	return Decision{Allowed: true, Remaining: int((window - ahead) / interval), Reset: ahead}
}

// Len returns the number of remembered callers.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.paid.Len()
}
