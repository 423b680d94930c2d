package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// MaxCalls bounds the calls of one principal at once; more wait up to maxWait.
const (
	MaxCalls = 8
	maxWait  = 10 * time.Second
)

// errBusy says that a principal has too many calls at work.
var errBusy = errors.New("too many calls at once")

// seats bounds the calls at once of each principal.
type seats struct {
	mu struct {
		sync.Mutex
		of map[string]*seat
	}
}

// seat is of one principal with calls.
type seat struct {
	taken chan struct{}
	users int // calls at work and waiting
}

func newSeats() *seats {
	s := &seats{}
	s.mu.of = make(map[string]*seat)
	return s
}

// enter returns once the principal may make another call. The caller calls leave.
func (s *seats) enter(ctx context.Context, who string) (leave func(), err error) {
	seat := s.seat(who)
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	select {
	case seat.taken <- struct{}{}:
		return func() { <-seat.taken; s.release(who, seat) }, nil
	case <-timer.C:
		err = fmt.Errorf("%w: %d are at work", errBusy, MaxCalls)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.release(who, seat)
	return nil, err
}

func (s *seats) seat(who string) *seat {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.mu.of[who]
	if known == nil {
		known = &seat{taken: make(chan struct{}, MaxCalls)}
		s.mu.of[who] = known
	}
	known.users++
	return known
}

func (s *seats) release(who string, seat *seat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seat.users--; seat.users == 0 {
		delete(s.mu.of, who)
	}
}
