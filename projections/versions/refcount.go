package versions

import (
	"sync/atomic"
)

// refCount counts the users of a version. Being live counts as one use, and so does each
// view. The store of the version is closed when no use is left.
type refCount struct {
	count  atomic.Int64
	unused chan struct{} // closed when the last use ends
}

// tryAcquire begins a use, unless none is left.
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
