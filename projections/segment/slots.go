package segment

import (
	"context"
	"sync"
)

// SmallBytes is the text size below which a segment is built without a slot: it takes
// little memory, and a push must not wait for imports and merges.
const SmallBytes = 4 << 20

// Slots bounds the number of large segments that a process builds at the same time.
// Imports and merges share the slots, so that their total memory is bounded. Waiting
// callers get a slot in the order in which they called Acquire. It is safe for concurrent
// use.
type Slots struct {
	slots chan struct{}
	busy  func(bool)
	mu    struct {
		sync.Mutex
		taken int
	}
}

// NewSlots returns n slots, at least one. busy, if not nil, is called with true when the
// first slot is taken and with false when the last is released; it must not block.
func NewSlots(n int, busy func(bool)) *Slots {
	return &Slots{slots: make(chan struct{}, max(n, 1)), busy: busy}
}

// Acquire waits for a slot. If it succeeds, the caller must call Release.
func (s *Slots) Acquire(ctx context.Context) error {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.count(1)
	return nil
}

// Release releases a slot.
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
