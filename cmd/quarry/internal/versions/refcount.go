package versions

import "sync/atomic"

// use counts who works with a version: its being live is one use, each view of it
// another. Its store is closed when there is none left.
type refCount struct {
	count  atomic.Int64
	unused chan struct{} // closed with the last use
}

// start is the first use.
func (u *refCount) start() {
	u.unused = make(chan struct{})
	u.count.Store(1)
}

// tryAcquire adds a use, unless there is none left.
func (u *refCount) tryAcquire() bool {
	for {
		n := u.count.Load()
		if n == 0 {
			return false
		}
		if u.count.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// release ends a use.
func (u *refCount) release() {
	if u.count.Add(-1) == 0 {
		close(u.unused)
	}
}
