package oidc

import (
	"sync"
	"time"
)

// maxUsed bounds the remembered flows. Beyond it the oldest is dropped: the provider
// still accepts its code only once.
const maxUsed = 1 << 14

// usedFlows remembers the flows that have arrived until they expire, so that none arrives
// twice.
type usedFlows struct {
	mu struct {
		sync.Mutex
		until map[string]time.Time
		order []string // oldest first
	}
}

// markUsed marks a state as used, and reports whether it was unused before.
func (u *usedFlows) markUsed(state string, until, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.mu.until == nil {
		u.mu.until = map[string]time.Time{}
	}
	u.forgetLocked(now)
	if _, taken := u.mu.until[state]; taken {
		return false
	}
	u.mu.until[state] = until
	u.mu.order = append(u.mu.order, state)
	return true
}

func (u *usedFlows) forgetLocked(now time.Time) {
	for len(u.mu.order) > 0 {
		oldest := u.mu.order[0]
		if len(u.mu.order) < maxUsed && now.Before(u.mu.until[oldest]) {
			return
		}
		delete(u.mu.until, oldest)
		u.mu.order = u.mu.order[1:]
	}
}
