package webhook

import (
	"sync"
	"time"
)

// Limits on the events of refused deliveries, per connection. Anyone who knows the URL of
// a connection can cause refusals and must not be able to fill the log.
const (
	refusalBurst = 10
	refusalEvery = time.Second
)

// refusalLimiter is a token bucket of size refusalBurst that refills by one token every
// refusalEvery. It also counts the refusals since the last recorded one.
type refusalLimiter struct {
	mu struct {
		sync.Mutex
		// full is the time at which the bucket will be full.
		full       time.Time
		suppressed int64
	}
}

// tryTake reports whether a refusal at now may be recorded, and how many before it were
// suppressed. If it may not, tryTake counts it as suppressed.
func (r *refusalLimiter) tryTake(now time.Time) (suppressed int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	full := r.mu.full
	if latest := now.Add(refusalBurst * refusalEvery); full.Before(now) || full.After(latest) {
		full = now // the bucket is full, or the clock was set back
	}
	if full = full.Add(refusalEvery); full.Sub(now) > refusalBurst*refusalEvery {
		r.mu.suppressed++
		return 0, false
	}
	r.mu.full = full
	suppressed, r.mu.suppressed = r.mu.suppressed, 0
	return suppressed, true
}

// addSuppressed adds refusals that got a token but could not be recorded.
func (r *refusalLimiter) addSuppressed(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.suppressed += n
}
