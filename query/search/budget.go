package search

import (
	"sync"
	"sync/atomic"
)

// What is counted of what a search holds, in bytes.
const (
	hitBytes   = 128
	matchBytes = 12
	// holdStep is what a visitor counts for itself before it says so.
	reserveStep = 64 << 10
	// ownBytes are every search's: what others hold does not matter to it until
	// then, so that an ordinary search is never cut for want of memory.
	unpooledBytes = 1 << 20
)

// A pool is the memory that all searches may hold together, beyond their own.
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

// A holding is what one search holds: matches found and files rendered. Other
// memory of a search is bounded by other means: text and postings by the visitor's
// buffers, programs by syntax.MaxRegexpInstructions.
type memoryBudget struct {
	pool     *memoryPool
	maxBytes int64
	// spent says that more was wanted than there is.
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

// reserveMemory counts what the visitor holds on behalf of its search, and ends the visit
// when that is too much.
func (v *segmentSearcher) reserveMemory(n int64) {
	if v.memory == nil {
		return
	}
	if v.unreservedBytes += n; v.unreservedBytes >= reserveStep || v.unreservedBytes <= -reserveStep {
		v.exceeded = !v.memory.reserve(v.unreservedBytes) && v.unreservedBytes > 0 || v.exceeded
		v.unreservedBytes = 0
	}
}
