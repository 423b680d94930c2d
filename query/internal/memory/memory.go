// Package memory bounds the memory that searches hold for matches and rendered files.
//
// A Budget bounds one search, a Pool all searches of a process. Both count bytes that
// their callers estimate; they allocate nothing.
package memory

import (
	"sync"
	"sync/atomic"
)

// unpooledBytes is the memory that each search may hold outside the pool. It keeps an
// ordinary search from stopping because others hold much memory.
const unpooledBytes = 1 << 20

// A Pool bounds the total memory of all searches, beyond unpooledBytes of each. It is safe
// for concurrent use.
type Pool struct {
	maxBytes int64
	used     atomic.Int64
}

// NewPool returns a pool of so many bytes.
func NewPool(maxBytes int64) *Pool { return &Pool{maxBytes: maxBytes} }

// UsedBytes returns the bytes of the pool that searches hold.
func (p *Pool) UsedBytes() int64 { return p.used.Load() }

// NewBudget returns the budget of one search, which may hold maxBytes, but at least
// unpooledBytes, as long as the pool has them left.
func (p *Pool) NewBudget(maxBytes int64) *Budget { return &Budget{pool: p, maxBytes: maxBytes} }

// tryReserve reserves n bytes if the pool has that many left.
func (p *Pool) tryReserve(n int64) bool {
	if p.used.Add(n) <= p.maxBytes {
		return true
	}
	p.used.Add(-n)
	return false
}

// A Budget counts the memory of one search. It is safe for concurrent use.
type Budget struct {
	pool     *Pool
	maxBytes int64
	exceeded atomic.Bool

	mu struct {
		sync.Mutex
		held, pooled int64
	}
}

// Reserve reserves n bytes, or releases -n bytes if n is negative. It reports whether the
// search may continue. A refused reservation counts until it is released.
func (b *Budget) Reserve(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.held += n
	missing := max(b.mu.held-unpooledBytes, 0) - b.mu.pooled
	if missing > 0 && (b.mu.held > b.maxBytes || !b.pool.tryReserve(missing)) {
		b.exceeded.Store(true)
		return false
	}
	if missing < 0 {
		b.pool.used.Add(missing)
	}
	b.mu.pooled += missing
	return true
}

// Exceeded reports whether a reservation has failed.
func (b *Budget) Exceeded() bool { return b.exceeded.Load() }

// UsesPool reports whether the search holds memory from the pool.
func (b *Budget) UsesPool() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.pooled > 0
}

// ReleaseAll releases all memory of the search. It may be called more than once.
func (b *Budget) ReleaseAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pool.used.Add(-b.mu.pooled)
	b.mu.held, b.mu.pooled = 0, 0
}
