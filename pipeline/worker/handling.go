package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// Reasons why the context of a call of the handler ends.
var (
	// ErrRemoved means that a later record removes the repository of the call.
	ErrRemoved = failure.New(failure.Removed, "the repository was removed meanwhile")
	// ErrTimeout means that the call made no progress for Options.Stall, or took longer
	// than Options.Limit.
	ErrTimeout = failure.New(failure.Timeout, "handling took too long")
	// errDrained means that the worker is stopping, or the partition was revoked.
	errDrained = errors.New("the worker stops")
)

// maxGrace bounds how long a handler may take to return after its context ended. A
// handler that takes longer is abandoned.
const maxGrace = 5 * time.Second

// maxNameWait bounds the wait for the name of a repository. The name is read from the
// mirror, which may be on the disk that hangs.
const maxNameWait = time.Second

// A handlerCall is one call of the handler.
type handlerCall struct {
	first     event.Record
	startedAt time.Time
	progress  atomic.Int64 // time of the last reported progress, in Unix nanoseconds
}

type handlerCallKey struct{}

// ReportProgress reports that the call of the handler with this context is not stuck.
func ReportProgress(ctx context.Context) {
	if h, ok := ctx.Value(handlerCallKey{}).(*handlerCall); ok {
		h.progress.Store(time.Now().UnixNano())
	}
}

// timeLeft returns how long the call may continue without progress.
func (h *handlerCall) timeLeft(o *Options) time.Duration {
	stall := time.Unix(0, h.progress.Load()).Add(o.Stall)
	limit := h.startedAt.Add(o.Limit)
	if limit.Before(stall) {
		stall = limit
	}
	return time.Until(stall)
}

// outcome is the result of a call of the handler.
type outcome struct {
	n   int
	err error
}

// handleRecords calls the handler within its time limits. It returns when the handler
// returns, or some time after the context of the call ended, so that a handler that
// ignores its context does not hold a slot. ctx ends when the drain is over, or when a
// removal is read.
func (p *partition) handleRecords(ctx context.Context, l *lane, records []event.Record) (n int, err error) {
	if p.window.isHanging(l.key) && !p.w.isRemoval(records[0]) {
		return len(records), fmt.Errorf("%w: an earlier event of the repository hangs and cannot be stopped; restart the server", ErrTimeout)
	}
	now := time.Now()
	h := &handlerCall{first: records[0], startedAt: now}
	h.progress.Store(now.UnixNano())
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, handlerCallKey{}, h))
	defer cancel(nil)
	p.w.trackCall(h)
	defer p.w.untrackCall(h)
	returned := make(chan outcome, 1) // bound: one send
	go func() { returned <- p.w.callHandler(ctx, records) }()
	timer := time.NewTimer(h.timeLeft(&p.w.o))
	defer timer.Stop()
	for {
		select {
		case out := <-returned:
			return out.n, withCause(ctx, out.err)
		case <-timer.C:
			left := h.timeLeft(&p.w.o)
			if left <= 0 {
				p.w.metrics.timeouts.Inc()
				cancel(fmt.Errorf("%w: no progress for %s, or more than %s in all", ErrTimeout, p.w.o.Stall, p.w.o.Limit))
				continue
			}
			timer.Reset(left)
		case <-ctx.Done():
			return p.awaitCanceled(ctx, l, h, returned, len(records))
		}
	}
}

// awaitCanceled waits up to maxGrace for a handler whose context has ended.
func (p *partition) awaitCanceled(ctx context.Context, l *lane, h *handlerCall, returned chan outcome, n int) (int, error) {
	timer := time.NewTimer(min(maxGrace, p.w.o.Drain/2))
	defer timer.Stop()
	select {
	case out := <-returned:
		return out.n, withCause(ctx, out.err)
	case <-timer.C:
	}
	p.w.metrics.hanging.Inc()
	p.window.addHanging(l.key, 1)
	p.w.o.Logger.Error("a handler does not return after its context ended; it is abandoned", p.w.logKeys(h)...)
	go func() {
		<-returned
		p.window.addHanging(l.key, -1)
		p.w.metrics.hanging.Dec()
	}()
	return n, fmt.Errorf("%w; the handler did not return", context.Cause(ctx))
}

// withCause prefixes the handler's error with the reason why its context ended.
func withCause(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err == nil || cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// callHandler calls the handler, and turns a panic into a permanent failure of all
// records passed to it.
func (w *Worker) callHandler(ctx context.Context, records []event.Record) (out outcome) {
	defer func() {
		if p := recover(); p != nil {
			at := records[0].Position
			w.o.Logger.Error("the handler of a record panicked", "partition", at.Partition,
				"offset", at.Offset, "records", len(records), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			out = outcome{len(records), failure.With(failure.Panic, fmt.Errorf("%w: panic: %v", ErrPermanent, p))}
		}
	}()
	n, err := w.o.Handler.Handle(ctx, records)
	return outcome{min(max(n, 1), len(records)), err}
}

// isRemoval reports whether a record makes the earlier records of its lane pointless.
func (w *Worker) isRemoval(rec event.Record) bool { return w.o.Removes != nil && w.o.Removes(rec) }

// logKeys returns the key-value pairs that log lines about a call contain.
func (w *Worker) logKeys(h *handlerCall) []any {
	at := h.first.Position
	keys := []any{"partition", at.Partition, "offset", at.Offset, "type", string(event.TypeOf(h.first)), "seconds", int(time.Since(h.startedAt).Seconds())}
	if id, ok := event.RepositoryOfKey(h.first.Key); ok {
		keys = append(keys, "repository_id", id)
	}
	if w.o.Name != nil {
		keys = append(keys, "repository", w.nameOf(h.first))
	}
	return keys
}

// nameOf returns the name of a record's repository, or an empty string if the name is not
// known within maxNameWait.
func (w *Worker) nameOf(rec event.Record) string {
	named := make(chan string, 1) // bound: one send
	go func() { named <- w.o.Name(rec) }()
	timer := time.NewTimer(maxNameWait)
	defer timer.Stop()
	select {
	case name := <-named:
		return name
	case <-timer.C:
		return ""
	}
}

func (w *Worker) trackCall(h *handlerCall) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.handlings[h] = struct{}{}
}

func (w *Worker) untrackCall(h *handlerCall) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.mu.handlings, h)
}

// longestCall returns how long the oldest running call of the handler has taken.
func (w *Worker) longestCall() (longest time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for h := range w.mu.handlings {
		longest = max(longest, time.Since(h.startedAt))
	}
	return longest
}
