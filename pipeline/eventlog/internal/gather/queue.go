package gather

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Errors of Do.
var (
	ErrClosed = errors.New("queue is closed")
	ErrFull   = errors.New("too many bytes wait to be written")
)

// Queue passes items to a write function in batches. Its methods are safe for concurrent
// use.
type Queue[T any] struct {
	write           func(batch []T) error
	maxBatchBytes   int
	maxWaitingBytes int
	writer          sync.WaitGroup
	mu              struct {
		sync.Mutex
		waiting []*entry[T]
		bytes   int // of waiting items
		writing bool
		closed  bool
	}
}

type entry[T any] struct {
	item   T
	bytes  int
	urgent bool
	done   chan struct{}
	err    error // set before done is closed
}

// urgentReserve is the divisor of maxWaitingBytes that gives the additional space for
// urgent items.
const urgentReserve = 4

// New returns a queue that passes batches of at most maxBatchBytes (but at least one
// item) to write, and bounds the waiting items to maxWaitingBytes.
func New[T any](maxBatchBytes, maxWaitingBytes int, write func(batch []T) error) *Queue[T] {
	return &Queue[T]{write: write, maxBatchBytes: maxBatchBytes, maxWaitingBytes: maxWaitingBytes}
}

// Do writes item and returns the result of write for its batch. If ctx ends first, it
// returns ctx.Err(); the item is then not written unless its batch has started.
func (q *Queue[T]) Do(ctx context.Context, item T, bytes int) error {
	return q.enqueueAndWait(ctx, &entry[T]{item: item, bytes: bytes, done: make(chan struct{})})
}

// DoUrgent works like Do, but the item goes before all non-urgent items, and reserved
// space is available to it.
func (q *Queue[T]) DoUrgent(ctx context.Context, item T, bytes int) error {
	return q.enqueueAndWait(ctx, &entry[T]{item: item, bytes: bytes, urgent: true, done: make(chan struct{})})
}

func (q *Queue[T]) enqueueAndWait(ctx context.Context, e *entry[T]) error {
	if err := q.put(e); err != nil {
		return err
	}
	select {
	case <-e.done:
		return e.err
	case <-ctx.Done():
		q.dropEntry(e)
		return ctx.Err()
	}
}

// Close waits until the queued items are written and the writer has ended.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	q.mu.closed = true
	q.mu.Unlock()
	q.writer.Wait()
}

func (q *Queue[T]) put(e *entry[T]) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	at, most := len(q.mu.waiting), q.maxWaitingBytes
	if e.urgent {
		at, most = q.urgentLocked(), most+most/urgentReserve
	}
	switch {
	case q.mu.closed:
		return ErrClosed
	case len(q.mu.waiting) > 0 && q.mu.bytes+e.bytes > most:
		return ErrFull
	}
	q.mu.waiting = slices.Insert(q.mu.waiting, at, e)
	q.mu.bytes += e.bytes
	if !q.mu.writing {
		q.mu.writing = true
		q.writer.Go(q.writeAll)
	}
	return nil
}

// urgentLocked returns the number of waiting urgent items, which come first in the queue.
func (q *Queue[T]) urgentLocked() int {
	n := 0
	for n < len(q.mu.waiting) && q.mu.waiting[n].urgent {
		n++
	}
	return n
}

func (q *Queue[T]) dropEntry(e *entry[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.mu.waiting, e); i >= 0 {
		q.mu.waiting = slices.Delete(q.mu.waiting, i, i+1)
		q.mu.bytes -= e.bytes
	}
}

// writeAll writes batches until no item waits.
func (q *Queue[T]) writeAll() {
	for {
		batch := q.takeBatch()
		if batch == nil {
			return
		}
		items := make([]T, len(batch))
		for i, e := range batch {
			items[i] = e.item
		}
		err := q.write(items)
		for _, e := range batch {
			e.err = err
			close(e.done)
		}
	}
}

// takeBatch removes the next batch from the queue; if the queue is empty, the writer
// ends.
func (q *Queue[T]) takeBatch() []*entry[T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, bytes := 0, 0
	for n < len(q.mu.waiting) && (n == 0 || bytes+q.mu.waiting[n].bytes <= q.maxBatchBytes) {
		bytes += q.mu.waiting[n].bytes
		n++
	}
	if n == 0 {
		q.mu.writing = false
		return nil
	}
	batch := slices.Clone(q.mu.waiting[:n])
	q.mu.waiting = slices.Delete(q.mu.waiting, 0, n)
	q.mu.bytes -= bytes
	return batch
}
