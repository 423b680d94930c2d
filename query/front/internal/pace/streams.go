package pace

import "sync"

// Streams counts open streams, in total and per caller.
type Streams struct {
	all int
	mu  struct {
		sync.Mutex
		each    int
		open    int
		callers map[string]int
	}
}

// NewStreams returns a counter that allows at most all streams in total and each per
// caller; 0 means no bound.
func NewStreams(all, each int) *Streams {
	s := &Streams{all: all}
	s.mu.each = each
	s.mu.callers = map[string]int{}
	return s
}

// SetEach replaces the bound per caller. Open streams are not affected.
func (s *Streams) SetEach(each int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.each = each
}

// Enter counts a stream of key, or returns the bound that is reached. If the stream is
// admitted, the caller must call leave when it ends; later calls do nothing.
func (s *Streams) Enter(key string, exempt bool) (leave func(), full Full) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.all > 0 && s.mu.open >= s.all:
		return nil, FullOfAll
	case s.mu.each > 0 && !exempt && s.mu.callers[key] >= s.mu.each:
		return nil, FullOfCaller
	}
	s.mu.open++
	s.mu.callers[key]++
	return sync.OnceFunc(func() { s.leaveStream(key) }), Room
}

func (s *Streams) leaveStream(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.open--
	if s.mu.callers[key]--; s.mu.callers[key] == 0 {
		delete(s.mu.callers, key)
	}
}

// Open returns the number of open streams.
func (s *Streams) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.open
}

// Full names the bound that is reached.
type Full int

// The bounds.
const (
	Room Full = iota
	FullOfAll
	FullOfCaller
)
