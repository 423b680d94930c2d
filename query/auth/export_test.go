package auth

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

// MaxThrottled is the bound of what a throttle remembers.
const MaxThrottled = maxThrottled

// Throttled returns how many addresses and accounts are remembered.
func (s *Service) Throttled() int {
	s.throttle.mu.Lock()
	defer s.throttle.mu.Unlock()
	return s.throttle.mu.failures.Len()
}

// Hasher is a hasher.
type Hasher struct{ *hasher }

// NewHasher returns a new hasher.
func NewHasher(o Hashing) Hasher {
	return Hasher{newHasher(o, newMetrics(prometheus.NewRegistry()))}
}

// Acquire takes a slot.
func (h Hasher) Acquire(ctx context.Context) (func(), error) { return h.acquireSlot(ctx) }
