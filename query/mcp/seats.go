package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// MaxCalls bounds the concurrent calls of one principal; further calls wait up to
// maxWait.
const (
	MaxCalls = 8
	maxWait  = 10 * time.Second
)

// errBusy means that a principal has too many concurrent calls.
var errBusy = errors.New("too many calls at once")

// callSlots bounds the concurrent calls of each principal.
type callSlots struct {
	mu struct {
		sync.Mutex
		of map[string]*principalSlots
	}
}

// principalSlots holds the calls of one principal.
type principalSlots struct {
	inUse chan struct{}
	users int // calls running or waiting
}

func newCallSlots() *callSlots {
	s := &callSlots{}
	s.mu.of = make(map[string]*principalSlots)
	return s
}

// acquireSlot waits until the principal may make another call. The caller must call
// leave.
func (s *callSlots) acquireSlot(ctx context.Context, who string) (leave func(), err error) {
	seat := s.slotsOf(who)
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	select {
	case seat.inUse <- struct{}{}:
		return func() { <-seat.inUse; s.releaseSlots(who, seat) }, nil
	case <-timer.C:
		err = fmt.Errorf("%w: %d are running", errBusy, MaxCalls)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.releaseSlots(who, seat)
	return nil, err
}

func (s *callSlots) slotsOf(who string) *principalSlots {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.mu.of[who]
	if known == nil {
		known = &principalSlots{inUse: make(chan struct{}, MaxCalls)}
		s.mu.of[who] = known
	}
	known.users++
	return known
}

func (s *callSlots) releaseSlots(who string, seat *principalSlots) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seat.users--; seat.users == 0 {
		delete(s.mu.of, who)
	}
}
