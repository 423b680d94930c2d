package auth

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

// MaxThrottled is the maximum number of entries of a throttle.
const MaxThrottled = maxThrottled

// Throttled returns the number of remembered addresses and accounts.
func (s *Service) Throttled() int {
	s.throttle.mu.Lock()
	defer s.throttle.mu.Unlock()
	return s.throttle.mu.failures.Len()
}

// Hasher is a hasher.
type Hasher struct{ *hasher }

// NewHasher returns a new hasher.
func NewHasher(o Hashing) Hasher {
	o.ensureDefaults()
	return Hasher{newHasher(o, newMetrics(prometheus.NewRegistry()))}
}

// Acquire acquires a slot.
func (h Hasher) Acquire(ctx context.Context) (func(), error) {
	return h.acquireSlot(ctx, turnOfStranger(""))
}

// AcquireFor acquires a slot for a share.
func (h Hasher) AcquireFor(ctx context.Context, trusted bool, share string) (func(), error) {
	return h.acquireSlot(ctx, hashTurn{trusted, share})
}
