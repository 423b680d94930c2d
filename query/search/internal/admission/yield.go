package admission

import "runtime"

// yieldProcessor yields to interactive workers, to heavy workers whose turn it is, or
// briefly to other goroutines.
func (w *Worker) yieldProcessor() {
	select {
	case <-w.done:
		w.ended = true
		return
	default:
	}
	c := w.t.c
	c.mu.Lock()
	if !w.mustYieldLocked() {
		c.mu.Unlock()
		w.quantum = 0
		runtime.Gosched()
		w.last = c.sinceStart()
		return
	}
	w.state = paused
	w.t.attained += w.turn
	c.mu.heavy--
	c.mu.floor = false
	w.queueLocked()
	c.mu.Unlock()
	w.awaitGrant()
}

// mustYieldLocked reports whether the worker must give its processor to another worker.
// The controller's lock must be held.
func (w *Worker) mustYieldLocked() bool {
	c := w.t.c
	if c.mu.heavy > c.freeLocked() {
		return !c.mu.floor || w.turn >= floorRun
	}
	return len(c.mu.queue) > 0 && w.turn >= turnDuration
}
