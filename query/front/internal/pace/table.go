package pace

import (
	"sync"
	"time"

	"github.com/quarrysearch/quarry/schemas/lru"
)

// Limit is a rate limit. PerSecond 0 is no limit.
type Limit struct {
	PerSecond int
	// Burst is how many requests may come at once; at least 1.
	Burst int
}

// Unlimited reports whether everything passes.
func (l Limit) Unlimited() bool { return l.PerSecond <= 0 }

// Decision is what happened to a request.
type Decision struct {
	Allowed bool
	// Remaining is how many requests of cost 1 would pass at once now.
	Remaining int
	// Reset is the time until the whole burst is there again.
	Reset time.Duration
	// Wait is the time until the request would pass; 0 if it was allowed.
	Wait time.Duration
}

// Table is who came when.
type Table struct {
	mu struct {
		sync.Mutex
		// paid is when everything that a caller has taken is paid back.
		paid *lru.Cache[string, time.Time]
	}
}

// New returns a table of at most limit callers.
func New(limit int) *Table {
	t := &Table{}
	t.mu.paid = lru.New[string, time.Time](int64(max(limit, 1)))
	return t
}

// Take takes cost from what key may do by l. A cost above the burst is the burst.
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

// Len returns how many callers are remembered.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.paid.Len()
}
