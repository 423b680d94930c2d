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

// Why the context of a call of the handler ends.
var (
	// ErrRemoved says that a later record removes what the call is about.
	ErrRemoved = failure.New(failure.Removed, "the repository was removed meanwhile")
	// ErrTimeout says that the call made no progress for Options.Stall, or took
	// longer than Options.Limit.
	ErrTimeout = failure.New(failure.Timeout, "handling took too long")
	// errDrained says that the worker stops, or the partition was taken away.
	errDrained = errors.New("the worker stops")
)

// maxGrace bounds how long a handler may take to return after its context ended.
// One that takes longer is left behind.
const maxGrace = 5 * time.Second

// maxNameWait bounds the wait for the name of a repository. It is read from the mirror,
// which may be on the disk that hangs.
const maxNameWait = time.Second

// A handling is one call of the handler.
type handling struct {
	first    event.Record
	began    time.Time
	progress atomic.Int64 // when the handler last reported some, Unix nanoseconds
}

type handlingKey struct{}

// ReportProgress says that the call of the handler with this context is not stuck.
func ReportProgress(ctx context.Context) {
	if h, ok := ctx.Value(handlingKey{}).(*handling); ok {
		h.progress.Store(time.Now().UnixNano())
	}
}

// left returns how long the handling may go on without progress.
func (h *handling) left(o *Options) time.Duration {
	stall := time.Unix(0, h.progress.Load()).Add(o.Stall)
	limit := h.began.Add(o.Limit)
	if limit.Before(stall) {
		stall = limit
	}
	return time.Until(stall)
}

// outcome is what a call of the handler returned.
type outcome struct {
	n   int
	err error
}

// handle calls the handler within its bounds. It returns once the handler does, or
// some time after the context of the call ended: a handler that ignores its
// context does not hold a place. ctx ends when a drain is over, or when a removal
// is read.
func (p *partition) handle(ctx context.Context, l *lane, records []event.Record) (n int, err error) {
	if p.window.hangs(l.key) && !p.w.removes(records[0]) {
		return len(records), fmt.Errorf("%w: an earlier event of the repository hangs and cannot be stopped; restart the server", ErrTimeout)
	}
	now := time.Now()
	h := &handling{first: records[0], began: now}
	h.progress.Store(now.UnixNano())
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, handlingKey{}, h))
	defer cancel(nil)
	p.w.track(h)
	defer p.w.untrack(h)
	returned := make(chan outcome, 1) // bound: one send
	go func() { returned <- p.w.call(ctx, records) }()
	timer := time.NewTimer(h.left(&p.w.o))
	defer timer.Stop()
	for {
		select {
		case out := <-returned:
			return out.n, explain(ctx, out.err)
		case <-timer.C:
			left := h.left(&p.w.o)
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

// awaitCanceled gives a handler whose context has ended the time to return.
func (p *partition) awaitCanceled(ctx context.Context, l *lane, h *handling, returned chan outcome, n int) (int, error) {
	timer := time.NewTimer(min(maxGrace, p.w.o.Drain/2))
	defer timer.Stop()
	select {
	case out := <-returned:
		return out.n, explain(ctx, out.err)
	case <-timer.C:
	}
	p.w.metrics.hanging.Inc()
	p.window.hang(l.key, 1)
	p.w.o.Logger.Error("a handler does not return after its context ended; it is left behind", p.w.describe(h)...)
	go func() {
		<-returned
		p.window.hang(l.key, -1)
		p.w.metrics.hanging.Dec()
	}()
	return n, fmt.Errorf("%w; the handler did not return", context.Cause(ctx))
}

// explain puts the reason why a context ended before the error that the handler
// made of it.
func explain(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err == nil || cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// call calls the handler and turns a panic into a permanent failure of all it was
// given.
func (w *Worker) call(ctx context.Context, records []event.Record) (out outcome) {
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

// removes reports whether a record makes pointless what came before it in its lane.
func (w *Worker) removes(rec event.Record) bool { return w.o.Removes != nil && w.o.Removes(rec) }

// describe returns the keys of a log line about a handling.
func (w *Worker) describe(h *handling) []any {
	at := h.first.Position
	keys := []any{"partition", at.Partition, "offset", at.Offset, "type", string(event.TypeOf(h.first)), "seconds", int(time.Since(h.began).Seconds())}
	if id, ok := event.RepositoryOfKey(h.first.Key); ok {
		keys = append(keys, "repository_id", id)
	}
	if w.o.Name != nil {
		keys = append(keys, "repository", w.nameOf(h.first))
	}
	return keys
}

// nameOf returns the name of a record's repository, empty if it is not there within
// maxNameWait.
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

func (w *Worker) track(h *handling) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.handlings[h] = struct{}{}
}

func (w *Worker) untrack(h *handling) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.mu.handlings, h)
}

// longestHandling returns how long the oldest call of the handler has taken.
func (w *Worker) longestHandling() (longest time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for h := range w.mu.handlings {
		longest = max(longest, time.Since(h.began))
	}
	return longest
}
