package search

import (
	"sync"
	"sync/atomic"
)

// Sizes in bytes by which the memory of a search is estimated.
const (
	hitBytes   = 128
	matchBytes = 12
	// reserveStep is how much memory a segmentSearcher uses before it makes a
	// reservation.
	reserveStep = 64 << 10
	// unpooledBytes is the memory that each search may use outside the shared pool. It
	// keeps an ordinary search from stopping because others use much memory.
	unpooledBytes = 1 << 20
)

// memoryPool bounds the total memory of all searches, beyond unpooledBytes of each.
type memoryPool struct {
	maxBytes int64
	used     atomic.Int64
}

// tryReserve reserves n bytes if the pool has that many left.
func (p *memoryPool) tryReserve(n int64) bool {
	if p.used.Add(n) <= p.maxBytes {
		return true
	}
	p.used.Add(-n)
	return false
}

// memoryBudget counts the memory of one search for matches found and files rendered.
// Other memory is bounded elsewhere: text and postings by the searcher's buffers,
// programs by syntax.MaxRegexpInstructions.
type memoryBudget struct {
	pool     *memoryPool
	maxBytes int64
	// exceeded is set when a reservation fails.
	exceeded atomic.Bool

	mu struct {
		sync.Mutex
		held, drawn int64
	}
}

// reserve reserves n bytes, or releases -n bytes if n is negative. It reports whether the
// search may continue.
func (h *memoryBudget) reserve(n int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.held += n
	missing := max(h.mu.held-unpooledBytes, 0) - h.mu.drawn
	if missing > 0 && (h.mu.held > h.maxBytes || !h.pool.tryReserve(missing)) {
		h.exceeded.Store(true)
		return false
	}
	if missing < 0 {
		h.pool.used.Add(missing)
	}
	h.mu.drawn += missing
	return true
}

// usesPool reports whether the search holds memory from the pool.
func (h *memoryBudget) usesPool() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.drawn > 0
}

// releaseAll releases all memory of the search.
func (h *memoryBudget) releaseAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pool.used.Add(-h.mu.drawn)
	h.mu.held, h.mu.drawn = 0, 0
}

// reserveMemory reserves memory that the matcher holds for its search, and ends the visit
// when the search exceeds its bound.
func (v *documentMatcher) reserveMemory(n int64) {
	if v.memory == nil {
		return
	}
	if v.unreservedBytes += n; v.unreservedBytes >= reserveStep || v.unreservedBytes <= -reserveStep {
		v.exceeded = !v.memory.reserve(v.unreservedBytes) && v.unreservedBytes > 0 || v.exceeded
		v.unreservedBytes = 0
	}
}
