package server

import "sync/atomic"

// use counts who works with a version: its being live is one use, each view of it
// another. Its store is closed when there is none left.
type use struct {
	count  atomic.Int64
	unused chan struct{} // closed with the last use
}

// begin is the first use.
func (u *use) begin() {
	u.unused = make(chan struct{})
	u.count.Store(1)
}

// enter adds a use, unless there is none left.
func (u *use) enter() bool {
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

// leave ends a use.
func (u *use) leave() {
	if u.count.Add(-1) == 0 {
		close(u.unused)
	}
}
