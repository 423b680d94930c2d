package webhook

import (
	"sync"
	"time"
)

// Bounds of the refused deliveries that the log is told of, for each connection:
// whoever knows its address can make refusals, and is not to fill the log.
const (
	refusalBurst = 10
	refusalEvery = time.Second
)

// refusals is a bucket of tokens, refusalBurst at the most, one more each
// refusalEvery; and how many were refused since one was last told of.
type refusalLimiter struct {
	mu struct {
		sync.Mutex
		// full is when the bucket will be full.
		full       time.Time
		suppressed int64
	}
}

// tryTake reports whether a refusal at now may be told of, and how many before it
// were not. One that may not be counts.
func (r *refusalLimiter) tryTake(now time.Time) (suppressed int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	full := r.mu.full
	if latest := now.Add(refusalBurst * refusalEvery); full.Before(now) || full.After(latest) {
		full = now // or the clock was set back
	}
	if full = full.Add(refusalEvery); full.Sub(now) > refusalBurst*refusalEvery {
		r.mu.suppressed++
		return 0, false
	}
	r.mu.full = full
	suppressed, r.mu.suppressed = r.mu.suppressed, 0
	return suppressed, true
}

// addSuppressed adds refusals that were taken and could not be told of after all.
func (r *refusalLimiter) addSuppressed(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.suppressed += n
}
