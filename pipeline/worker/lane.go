package worker

import (
	"context"
	"errors"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/event"
)

// A turn is the batch that a lane is working on, and its attempts so far.
type turn struct {
	hand    []*entry
	started time.Time // start of the first attempt; zero before it
	// attempt is the number of the next attempt.
	attempt int
	wait    time.Duration // upper bound of the next wait
	// elsewhere counts the attempts that failed with ErrElsewhere. elsewhereSince is the
	// start of the first of them since the last ErrUnavailable; zero if there is none.
	elsewhere      int
	elsewhereSince time.Time
	// alone is the number of records at the front that failed together and are now tried
	// one by one. Each of them starts with the attempt number first.
	alone, first int
}

// beginRecord resets the turn for the record at its front.
func (t *turn) beginRecord(wait time.Duration) {
	t.attempt, t.elsewhere, t.wait, t.started, t.elsewhereSince = 1, 0, wait, time.Time{}, time.Time{}
	if t.alone > 0 {
		t.attempt = t.first
	}
}

// nextRecords returns the records for the next call of the handler, at most max. A
// removal is always passed alone.
func (t *turn) nextRecords(max int, removes func(event.Record) bool) []event.Record {
	n := min(len(t.hand), max)
	if t.alone > 0 || removes(t.hand[0].rec) {
		n = 1
	}
	for i := 1; i < n; i++ {
		if removes(t.hand[i].rec) {
			n = i
		}
	}
	records := make([]event.Record, n)
	for i := range records {
		records[i] = t.hand[i].rec
	}
	return records
}

// tryAlone makes the lane try the first n records one by one.
func (t *turn) tryAlone(n int) { t.alone, t.first = n, t.attempt }

// workLane handles the records of a lane until none is left or ctx ends.
func (p *partition) workLane(ctx, drain context.Context, l *lane) {
	var t turn
	t.beginRecord(p.w.o.Backoff)
	for ctx.Err() == nil {
		if !p.skipRemoved(drain, l, &t) {
			return
		}
		wait, ok := p.takeTurn(ctx, drain, l, &t)
		if !ok || wait > 0 && !p.pauseLane(ctx, l, &t, wait) || len(t.hand) == 0 && !p.window.continueLane(l) {
			return
		}
	}
}

// takeTurn waits for a slot and makes one attempt. It returns the wait before the next
// attempt, and false if the worker was stopped.
func (p *partition) takeTurn(ctx, drain context.Context, l *lane, t *turn) (time.Duration, bool) {
	front := p.frontRecord(l, t)
	long := p.w.o.Long != nil && p.w.o.Long(front)
	waiting, release := p.window.interruptibleContext(ctx, l, front)
	entered := p.w.acquireSlot(waiting, long)
	release()
	if !entered {
		return 0, ctx.Err() == nil // a removal was read
	}
	defer p.w.releaseSlot(long)
	if t.attempt == 1 && t.alone == 0 {
		t.hand = p.window.takeRecords(l, t.hand, p.w.o.Batch-len(t.hand))
	}
	return p.tryBatch(drain, l, t)
}

// pauseLane waits before the next attempt, or until a removal is read. It returns false
// if the worker was stopped.
func (p *partition) pauseLane(ctx context.Context, l *lane, t *turn, wait time.Duration) bool {
	waiting, release := p.window.interruptibleContext(ctx, l, p.frontRecord(l, t))
	defer release()
	return clock.Sleep(waiting, wait) == nil || ctx.Err() == nil
}

// frontRecord returns the record that the lane handles next.
func (p *partition) frontRecord(l *lane, t *turn) event.Record {
	if len(t.hand) > 0 {
		return t.hand[0].rec
	}
	return p.window.firstRecord(l)
}

// acquireSlot waits for a slot and for the gate to open. It returns false if ctx ends
// first. Long records may use half of the slots.
func (w *Worker) acquireSlot(ctx context.Context, long bool) bool {
	if long && w.longSlots.Acquire(ctx, 1) != nil {
		return false
	}
	for w.gate.waitOpen(ctx) && w.slots.Acquire(ctx, 1) == nil {
		if wait, opened := w.gate.remainingWait(); wait <= 0 && opened == nil {
			w.metrics.running.Inc()
			return true
		}
		w.slots.Release(1)
	}
	if long {
		w.longSlots.Release(1)
	}
	return false
}

func (w *Worker) releaseSlot(long bool) {
	w.metrics.running.Dec()
	w.slots.Release(1)
	if long {
		w.longSlots.Release(1)
	}
}

// tryBatch makes one attempt at the batch. It returns the wait before the next attempt,
// and false if the worker was stopped.
func (p *partition) tryBatch(drain context.Context, l *lane, t *turn) (time.Duration, bool) {
	if t.started.IsZero() {
		t.started = time.Now()
	}
	records := t.nextRecords(p.w.o.Batch, p.w.isRemoval)
	ctx, release := p.window.interruptibleContext(drain, l, records[0])
	began := time.Now()
	n, err := p.handleRecords(ctx, l, records)
	release()
	if errors.Is(err, ErrElsewhere) && t.elsewhereSince.IsZero() {
		t.elsewhereSince = began
	}
	switch p.w.classifyOutcome(drain, err, t) {
	case verdictDone:
		p.w.gate.resetBackoff()
		p.finishRecords(t, n, resultHandled)
		return 0, true
	case verdictStop:
		p.w.o.Logger.Warn("event not finished before shutdown; it is handled again at the next start",
			append(p.w.logKeys(&handlerCall{first: records[0], startedAt: began}), "drain_seconds", p.w.o.Drain.Seconds(), "error", err)...)
		return 0, false
	case verdictRemoved:
		return 0, true
	case verdictWait:
		t.elsewhereSince = time.Time{} // the host was not contacted in this attempt
		p.w.gate.backOff()
		p.logRetry(t, err)
		return 0, true
	case verdictDeadLetter:
		if n > 1 {
			t.tryAlone(n)
			p.logRetry(t, err)
			return 0, true
		}
		return 0, p.writeDeadLetters(drain, t, 1, err)
	case verdictDeadLetterAll:
		return 0, p.writeDeadLetters(drain, t, max(n, t.alone), err)
	case verdictPatience:
		t.elsewhere++
	case verdictRetry:
		t.attempt++
		if n > 1 && t.attempt >= p.w.o.Attempts {
			t.tryAlone(n)
		}
	}
	wait := p.w.o.Jitter(t.wait)
	t.wait = min(2*t.wait, p.w.o.MaxBackoff)
	p.logRetry(t, err)
	return wait, true
}

// writeDeadLetters gives up the first n records of the batch. It returns false if the
// worker was stopped.
func (p *partition) writeDeadLetters(drain context.Context, t *turn, n int, reason error) bool {
	for _, e := range t.hand[:n] {
		if !p.w.writeDeadLetter(drain, e.rec, t.attempt+t.elsewhere, reason) {
			return false
		}
	}
	p.finishRecords(t, n, resultDead)
	return true
}

// logRetry counts and logs a retry.
func (p *partition) logRetry(t *turn, err error) {
	rec := &t.hand[0].rec
	p.w.metrics.retries.Inc()
	p.w.o.Logger.Warn("record could not be handled; retrying", "partition", rec.Position.Partition,
		"offset", rec.Position.Offset, "type", string(event.TypeOf(*rec)), "attempt", t.attempt+t.elsewhere, "error", err)
}

// finishRecords ends the first n records of a turn.
func (p *partition) finishRecords(t *turn, n int, result string) {
	took := time.Since(t.started)
	for _, e := range t.hand[:n] {
		p.w.metrics.observeRecord(e.rec, result, took)
	}
	p.window.finishEntries(t.hand[:n])
	t.hand = t.hand[n:]
	t.alone = max(t.alone-n, 0)
	t.beginRecord(p.w.o.Backoff)
}

type verdict int

const (
	verdictDone          verdict = iota
	verdictDeadLetter            // give up the record
	verdictDeadLetterAll         // give up all records that were handled together
	verdictRetry                 // retry, and count the attempt
	verdictPatience              // retry, until Options.Patience has passed
	verdictWait                  // retry without limit
	verdictStop                  // the worker was stopped
	verdictRemoved               // skip it, because a removal follows
)

func (w *Worker) classifyOutcome(drain context.Context, err error, t *turn) verdict {
	switch {
	case err == nil:
		return verdictDone
	case drain.Err() != nil:
		return verdictStop
	case errors.Is(err, ErrRemoved):
		return verdictRemoved
	case errors.Is(err, ErrTimeout):
		return verdictDeadLetterAll
	case errors.Is(err, ErrPermanent):
		return verdictDeadLetter
	case errors.Is(err, ErrUnavailable), errors.Is(err, eventlog.ErrFull):
		return verdictWait
	case errors.Is(err, ErrElsewhere) && time.Since(t.elsewhereSince) < w.o.Patience:
		return verdictPatience
	case errors.Is(err, ErrElsewhere):
		return verdictDeadLetterAll
	case t.attempt >= w.o.Attempts:
		return verdictDeadLetter
	}
	return verdictRetry
}

// writeDeadLetter writes a record to the dead letters, and retries until the log accepts
// it.
func (w *Worker) writeDeadLetter(ctx context.Context, rec event.Record, attempts int, reason error) bool {
	w.o.Logger.Error("record given up and written to the dead letters", "partition", rec.Position.Partition,
		"offset", rec.Position.Offset, "type", string(event.TypeOf(rec)), "attempts", attempts, "error", reason)
	letter := event.DeadLetter(rec, "worker", attempts, reason)
	for wait := w.o.Backoff; ; wait = min(2*wait, w.o.MaxBackoff) {
		_, err := w.o.Log.Append(ctx, event.TopicDeadLetters, eventlog.AnyPartition, letter)
		if err == nil {
			return true
		}
		w.o.Logger.Error("a dead letter could not be written; trying again", "error", err)
		if clock.Sleep(ctx, w.o.Jitter(wait)) != nil {
			return false
		}
	}
}
