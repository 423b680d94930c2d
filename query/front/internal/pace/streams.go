package pace

import "sync"

// Streams counts what goes on at once, of each caller and in all.
type Streams struct {
	all int
	mu  struct {
		sync.Mutex
		each    int
		open    int
		callers map[string]int
	}
}

// NewStreams returns a count of at most all in all, and each of a caller; 0 is no
// bound.
func NewStreams(all, each int) *Streams {
	s := &Streams{all: all}
	s.mu.each = each
	s.mu.callers = map[string]int{}
	return s
}

// SetEach replaces the bound of a caller. Streams that are open go on.
func (s *Streams) SetEach(each int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.each = each
}

// Enter counts one more of key, or returns the limit that is reached. The caller
// calls leave once if there is room.
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

// Open returns how many there are.
func (s *Streams) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.open
}

// Full says which bound is reached.
type Full int

// The bounds.
const (
	Room Full = iota
	FullOfAll
	FullOfCaller
)
