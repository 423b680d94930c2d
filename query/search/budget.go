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
	holdStep = 64 << 10
	// ownBytes are every search's: what others hold does not matter to it until
	// then, so that an ordinary search is never cut for want of memory.
	ownBytes = 1 << 20
)

// A pool is the memory that all searches may hold together, beyond their own.
type pool struct {
	most int64
	used atomic.Int64
}

// draw takes n bytes, if there are so many left.
func (p *pool) draw(n int64) bool {
	if p.used.Add(n) <= p.most {
		return true
	}
	p.used.Add(-n)
	return false
}

// A holding is what one search holds: matches found and files rendered. Other
// memory of a search is bounded by other means: text and postings by the visitor's
// buffers, programs by syntax.MaxRegexpInstructions.
type holding struct {
	pool *pool
	most int64
	// spent says that more was wanted than there is.
	spent atomic.Bool

	mu struct {
		sync.Mutex
		held, drawn int64
	}
}

// hold adds n bytes, or takes them off if n is negative. It reports whether the
// search may go on.
func (h *holding) hold(n int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.held += n
	missing := max(h.mu.held-ownBytes, 0) - h.mu.drawn
	if missing > 0 && (h.mu.held > h.most || !h.pool.draw(missing)) {
		h.spent.Store(true)
		return false
	}
	if missing < 0 {
		h.pool.used.Add(missing)
	}
	h.mu.drawn += missing
	return true
}

// draws reports whether the search holds memory of the pool.
func (h *holding) draws() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.drawn > 0
}

// release gives everything back.
func (h *holding) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pool.used.Add(-h.mu.drawn)
	h.mu.held, h.mu.drawn = 0, 0
}

// hold counts what the visitor holds on behalf of its search, and ends the visit
// when that is too much.
func (v *visitor) hold(n int64) {
	if v.holding == nil {
		return
	}
	if v.unsaid += n; v.unsaid >= holdStep || v.unsaid <= -holdStep {
		v.exceeded = !v.holding.hold(v.unsaid) && v.unsaid > 0 || v.exceeded
		v.unsaid = 0
	}
}
