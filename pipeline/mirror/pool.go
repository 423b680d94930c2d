package mirror

import "slices"

// takeIdle returns an idle reader of m, or nil.
func (ms *Mirrors) takeIdle(m *Mirror) *Reader {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for i, r := range slices.Backward(ms.mu.idle) {
		if r.m == m {
			ms.mu.idle = slices.Delete(ms.mu.idle, i, i+1)
			return r
		}
	}
	return nil
}

// giveBack keeps r for its next use. If there are too many idle readers, it ends r or the
// one that has been idle the longest.
func (ms *Mirrors) giveBack(r *Reader) {
	if !r.isReusable() {
		r.stopProcesses()
		return
	}
	ms.mu.Lock()
	evicted := r
	if !ms.mu.closed {
		ms.mu.idle = append(ms.mu.idle, r)
		evicted = nil
		if len(ms.mu.idle) > ms.o.IdleReaders {
			evicted = ms.mu.idle[0]
			ms.mu.idle = slices.Delete(ms.mu.idle, 0, 1)
		}
	}
	ms.mu.Unlock()
	if evicted != nil {
		evicted.stopProcesses()
	}
}

// endIdle ends the idle readers of m.
func (ms *Mirrors) endIdle(m *Mirror) {
	var ended []*Reader
	ms.mu.Lock()
	ms.mu.idle = slices.DeleteFunc(ms.mu.idle, func(r *Reader) bool {
		if r.m == m {
			ended = append(ended, r)
		}
		return r.m == m
	})
	ms.mu.Unlock()
	for _, r := range ended {
		r.stopProcesses()
	}
}
