package pace

import (
	"container/list"
	"sync"
	"time"
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
	limit int
	mu    struct {
		sync.Mutex
		callers map[string]*list.Element
		recent  *list.List // of *caller, the one that came last in front
	}
}

type caller struct {
	key string
	// paid is when everything that was taken is paid back.
	paid time.Time
}

// New returns a table of at most limit callers.
func New(limit int) *Table {
	t := &Table{limit: max(limit, 1)}
	t.mu.callers, t.mu.recent = map[string]*list.Element{}, list.New()
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
	c := t.callerLocked(key, now)
	paid := c.paid
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
	c.paid = next
	return Decision{Allowed: true, Remaining: int((window - ahead) / interval), Reset: ahead}
}

// Len returns how many callers are remembered.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.recent.Len()
}

// callerLocked returns the caller, the least recent of which makes room for a new
// one.
func (t *Table) callerLocked(key string, now time.Time) *caller {
	if e, known := t.mu.callers[key]; known {
		t.mu.recent.MoveToFront(e)
		return e.Value.(*caller)
	}
	if t.mu.recent.Len() >= t.limit {
		last := t.mu.recent.Back()
		delete(t.mu.callers, t.mu.recent.Remove(last).(*caller).key)
	}
	c := &caller{key: key, paid: now}
	t.mu.callers[key] = t.mu.recent.PushFront(c)
	return c
}
