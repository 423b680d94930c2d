package worker

import (
	"context"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock"
)

// A gate holds back all lanes: with exponential backoff while something that every record
// needs is missing, or for as long as the projections lag too far.
type gate struct {
	min, max time.Duration // bounds of a wait
	jitter   func(time.Duration) time.Duration
	mu       struct {
		sync.Mutex
		until   time.Time     // no batch begins before
		wait    time.Duration // upper bound of the next wait
		pressed bool
		// opened is closed when pressed ends, and nil otherwise.
		opened chan struct{}
	}
}

// waitOpen waits until the gate is open. It returns false if ctx ends first.
func (g *gate) waitOpen(ctx context.Context) bool {
	for {
		wait, opened := g.remainingWait()
		switch {
		case ctx.Err() != nil:
			return false
		case opened != nil:
			select {
			case <-opened:
			case <-ctx.Done():
				return false
			}
		case wait > 0:
			if clock.Sleep(ctx, wait) != nil {
				return false
			}
		default:
			return true
		}
	}
}

// remainingWait returns how long the gate stays closed and, under backpressure, a channel
// that is closed when the backpressure ends.
func (g *gate) remainingWait() (time.Duration, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.pressed {
		return 0, g.mu.opened
	}
	return time.Until(g.mu.until), nil
}

// backOff closes the gate for a while. Failures of batches that had already begun do not
// extend the wait.
func (g *gate) backOff() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Now().Before(g.mu.until) {
		return
	}
	wait := max(g.mu.wait, g.min)
	g.mu.until = time.Now().Add(g.jitter(wait))
	g.mu.wait = min(2*wait, g.max)
}

// resetBackoff resets the next wait to the minimum, after a batch succeeded.
func (g *gate) resetBackoff() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.wait = g.min
}

// setPressed closes or opens the gate, and reports whether its state changed.
func (g *gate) setPressed(now bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.pressed == now {
		return false
	}
	g.mu.pressed = now
	if now {
		g.mu.opened = make(chan struct{})
	} else {
		close(g.mu.opened)
		g.mu.opened = nil
	}
	return true
}

// isBackingOff reports whether the gate is closed after a failure.
func (g *gate) isBackingOff() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Now().Before(g.mu.until)
}
