package source

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// waitingShare is how many calls may wait for each slot.
const waitingShare = 16

// callPool bounds the concurrent calls of one kind.
type callPool struct {
	slots   chan struct{}
	waiting atomic.Int64
	maxWait time.Duration
	poolMetrics
}

func newPool(name string, size int, maxWait time.Duration, m *metrics) *callPool {
	return &callPool{slots: make(chan struct{}, size), maxWait: maxWait, poolMetrics: m.newPoolMetrics(name)}
}

// acquireSlot waits for a slot; the caller must release it with leave. It fails with
// ErrBusy if too many calls wait, or if the wait takes too long.
func (p *callPool) acquireSlot(ctx context.Context) error {
	select {
	case p.slots <- struct{}{}:
		p.running.Inc()
		return nil
	default:
	}
	n := p.waiting.Add(1)
	defer func() { p.queued.Set(float64(p.waiting.Add(-1))) }()
	if n > int64(waitingShare*cap(p.slots)) {
		p.refused.Inc()
		return fmt.Errorf("%w: %d run and as many wait as may", ErrBusy, cap(p.slots))
	}
	return p.awaitSlot(ctx)
}

func (p *callPool) awaitSlot(ctx context.Context) error {
	p.queued.Set(float64(p.waiting.Load()))
	timer := time.NewTimer(p.maxWait)
	defer timer.Stop()
	select {
	case p.slots <- struct{}{}:
		p.running.Inc()
		return nil
	case <-timer.C:
		p.refused.Inc()
		return fmt.Errorf("%w: none of %d ended within %s", ErrBusy, cap(p.slots), p.maxWait)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *callPool) releaseSlot() {
	<-p.slots
	p.running.Dec()
}
