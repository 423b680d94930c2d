package segment

import (
	"context"
	"sync"
)

// SmallBytes is the text below which a segment is built without a slot: it takes
// little memory, and a push must not wait for imports and merges.
const SmallBytes = 4 << 20

// Slots bounds the large segments that a process builds at once: imports and merges
// share them, so that their memory has one bound. Those that wait for a slot get it in
// the order in which they came. It is safe for concurrent use.
type Slots struct {
	slots chan struct{}
	busy  func(bool)
	mu    struct {
		sync.Mutex
		taken int
	}
}

// NewSlots returns n slots, at least one. busy, if it is not nil, is called with true
// when the first of them is taken and with false when the last is free again; it must
// not wait.
func NewSlots(n int, busy func(bool)) *Slots {
	return &Slots{slots: make(chan struct{}, max(n, 1)), busy: busy}
}

// Acquire waits for a slot. The caller calls Release unless it fails.
func (s *Slots) Acquire(ctx context.Context) error {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.count(1)
	return nil
}

// Release gives a slot back.
func (s *Slots) Release() {
	s.count(-1)
	<-s.slots
}

func (s *Slots) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.mu.taken
	s.mu.taken += n
	if s.busy != nil && (was == 0 || s.mu.taken == 0) {
		s.busy(s.mu.taken > 0)
	}
}

// Taken returns how many slots are taken.
func (s *Slots) Taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.taken
}
