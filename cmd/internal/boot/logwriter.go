package boot

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"
)

const (
	// maxLogWaiting bounds the bytes of log lines that wait to be written.
	maxLogWaiting = 1 << 20
	// logFlushTimeout bounds the wait until lines are written, after an error and at the
	// end of the process.
	logFlushTimeout = time.Second
)

// LogWriter writes lines to a writer without blocking the code that logs, so that a
// webhook is acknowledged even if the reader of standard error is stuck. It drops lines
// for which there is no room, and then writes a line with their number. A logger that
// NewLogger creates on it waits, within a bound, until its errors are written, so that a
// process that ends has logged the reason.
//
// A goroutine exists only while there is something to write.
type LogWriter struct {
	w io.Writer
	// report formats the line with the number of dropped lines. NewLogger sets it to use
	// the format of the other lines.
	report func(lines int) []byte
	mu     struct {
		sync.Mutex
		waiting [][]byte
		bytes   int
		dropped int
		// idle is closed when everything is written. It is nil while nothing is being
		// written.
		idle chan struct{}
	}
}

// NewLogWriter returns a LogWriter to w.
func NewLogWriter(w io.Writer) *LogWriter {
	return &LogWriter{w: w, report: func(lines int) []byte { return fmt.Appendf(nil, "%s lines=%d\n", linesDropped, lines) }}
}

// linesDropped is the message about dropped lines.
const linesDropped = "lines of the log were dropped: its reader is too slow"

// Write queues a line. It never fails.
func (l *LogWriter) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.bytes+len(line) > maxLogWaiting {
		l.mu.dropped++
		return len(line), nil
	}
	l.mu.waiting = append(l.mu.waiting, append([]byte(nil), line...))
	l.mu.bytes += len(line)
	if l.mu.idle == nil {
		l.mu.idle = make(chan struct{})
		go l.writeAll()
	}
	return len(line), nil
}

// writeAll writes lines until none is queued.
func (l *LogWriter) writeAll() {
	for line := l.nextLine(); line != nil; line = l.nextLine() {
		_, _ = l.w.Write(line) // there is no other place to report the error
	}
}

// nextLine removes the oldest line from the queue. It returns nil if the queue is empty;
// then the goroutine ends.
func (l *LogWriter) nextLine() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.mu.waiting) > 0 {
		line := l.mu.waiting[0]
		l.mu.waiting = l.mu.waiting[1:]
		l.mu.bytes -= len(line)
		return line
	}
	if n := l.mu.dropped; n > 0 {
		l.mu.dropped = 0
		return l.report(n)
	}
	close(l.mu.idle)
	l.mu.idle = nil
	return nil
}

// Flush waits until all lines are written, for at most one second.
func (l *LogWriter) Flush() {
	l.mu.Lock()
	idle := l.mu.idle
	l.mu.Unlock()
	if idle == nil {
		return
	}
	timer := time.NewTimer(logFlushTimeout)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
}

// errorFlusher is a handler that flushes an error before Handle returns.
type errorFlusher struct {
	slog.Handler
	lines *LogWriter
}

// Handle implements slog.Handler.
func (h errorFlusher) Handle(ctx context.Context, r slog.Record) error {
	err := h.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelError {
		h.lines.Flush()
	}
	return err
}

// WithAttrs implements slog.Handler.
func (h errorFlusher) WithAttrs(attrs []slog.Attr) slog.Handler {
	return errorFlusher{h.Handler.WithAttrs(attrs), h.lines}
}

// WithGroup implements slog.Handler.
func (h errorFlusher) WithGroup(name string) slog.Handler {
	return errorFlusher{h.Handler.WithGroup(name), h.lines}
}
