package search

import (
	"sync"
	"sync/atomic"
)

// Sizes in bytes by which the memory of a search is estimated.
const (
	hitBytes   = 128
	matchBytes = 12
	// reserveStep is how much memory a segmentSearcher uses before it reserves it.
	reserveStep = 64 << 10
	// unpooledBytes is the memory that each search may use without the shared pool, so
	// that an ordinary search never stops because others use much memory.
	unpooledBytes = 1 << 20
)

// memoryPool bounds the memory of all searches together, beyond unpooledBytes of each.
type memoryPool struct {
	maxBytes int64
	used     atomic.Int64
}

// tryReserve takes n bytes, if there are so many left.
func (p *memoryPool) tryReserve(n int64) bool {
	if p.used.Add(n) <= p.maxBytes {
		return true
	}
	p.used.Add(-n)
	return false
}

// memoryBudget counts the memory of one search: matches found and files rendered.
// Other memory is bounded elsewhere: text and postings by the searcher's
// buffers, programs by syntax.MaxRegexpInstructions.
type memoryBudget struct {
	pool     *memoryPool
	maxBytes int64
	// exceeded says that a reservation failed.
	exceeded atomic.Bool

	mu struct {
		sync.Mutex
		held, drawn int64
	}
}

// reserve adds n bytes, or takes them off if n is negative. It reports whether the
// search may go on.
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

// usesPool reports whether the search holds memory of the pool.
func (h *memoryBudget) usesPool() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.drawn > 0
}

// releaseAll gives everything back.
func (h *memoryBudget) releaseAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pool.used.Add(-h.mu.drawn)
	h.mu.held, h.mu.drawn = 0, 0
}

// reserveMemory counts what the matcher holds on behalf of its search, and ends the visit
// when that is too much.
func (v *documentMatcher) reserveMemory(n int64) {
	if v.memory == nil {
		return
	}
	if v.unreservedBytes += n; v.unreservedBytes >= reserveStep || v.unreservedBytes <= -reserveStep {
		v.exceeded = !v.memory.reserve(v.unreservedBytes) && v.unreservedBytes > 0 || v.exceeded
		v.unreservedBytes = 0
	}
}
