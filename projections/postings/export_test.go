package postings

// Reset empties the set and keeps its memory.
func (s *GramSet) Reset() {
	clear(s.recent[:])
	s.list = s.list[:0]
	if s.full {
		clear(s.bits)
		s.full = false
	}
}
