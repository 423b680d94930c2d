package worker

import (
	"context"
	"errors"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/event"
)

// When a removal is read, the running call of its lane ends, and the records before it in
// the lane are skipped. Otherwise the handler would work for nothing, or hang on a
// repository that is being removed because it hangs.

// interruptibleContext returns a context for the lane's next wait or call of the handler.
// It ends with ErrRemoved when a removal joins the lane, or immediately if one is queued
// after front. The caller must call release once.
func (w *window) interruptibleContext(ctx context.Context, l *lane, front event.Record) (_ context.Context, release func()) {
	if w.removes == nil || w.removes(front) {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if l.removals > 0 {
		cancel(ErrRemoved)
	} else {
		l.interrupt = cancel
	}
	return ctx, func() {
		w.mu.Lock()
		l.interrupt = nil
		w.mu.Unlock()
		cancel(nil)
	}
}

// noteRemovalLocked counts a removal that joins a lane, and interrupts the lane.
func (l *lane) noteRemovalLocked() {
	l.removals++
	if l.interrupt != nil {
		l.interrupt(ErrRemoved)
	}
}

// skipRemoved makes the handler answer, without handling them, the records of a lane that
// precede a removal. It returns false if the worker was stopped.
func (p *partition) skipRemoved(drain context.Context, l *lane, t *turn) bool {
	if !p.window.hasRemoval(l) {
		return true
	}
	t.hand = p.window.takeRecords(l, t.hand, MaxWindowRecords)
	n := 0
	for i, e := range t.hand {
		if p.w.isRemoval(e.rec) {
			n = i
		}
	}
	for n > 0 {
		records := make([]event.Record, min(n, p.w.o.Batch))
		for i := range records {
			records[i] = t.hand[i].rec
		}
		skipped, ok := p.skipRecords(drain, t, records)
		if !ok {
			return false
		}
		n -= skipped
	}
	return true
}

// skipRecords calls Handler.Skip until it succeeds, and returns how many records were
// skipped.
func (p *partition) skipRecords(drain context.Context, t *turn, records []event.Record) (int, bool) {
	if t.started.IsZero() {
		t.started = time.Now()
	}
	for wait := p.w.o.Backoff; ; wait = min(2*wait, p.w.o.MaxBackoff) {
		n, err := p.w.o.Handler.Skip(drain, records)
		switch {
		case err == nil:
			p.finishRecords(t, n, resultSkipped)
			return n, true
		case errors.Is(err, ErrPermanent):
			return n, p.writeDeadLetters(drain, t, n, err)
		}
		p.logRetry(t, err)
		if clock.Sleep(drain, p.w.o.Jitter(wait)) != nil {
			return 0, false
		}
	}
}
