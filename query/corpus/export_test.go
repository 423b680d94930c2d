package corpus

// CachedBytes returns the size of the cached states of a Screen, and States their number.
func (s *Screen) CachedBytes() int64 { return s.cachedBytes() }

// States returns the number of cached states.
func (s *Screen) States() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.known)
}

// MaxContextChecks is maxContextChecks.
const MaxContextChecks = maxContextChecks
