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
	// maxLogWaiting bounds the bytes of lines that wait for the reader of the log.
	maxLogWaiting = 1 << 20
	// logFlushTimeout bounds the wait for the lines to be written, after an error
	// and at the end of the process.
	logFlushTimeout = time.Second
)

// LogWriter writes lines to a writer without blocking the code that logs: a webhook
// is acknowledged even if the reader of standard error is stuck. Lines for which
// there is no room are dropped, and a line says how many were. A logger that
// NewLogger makes of it waits for its errors to be written, within a bound, so that
// a process that ends says why.
//
// A goroutine exists only while there is something to write.
type LogWriter struct {
	w io.Writer
	// report returns the line that says how many lines were dropped; NewLogger sets it
	// to the form of the others.
	report func(lines int) []byte
	mu     struct {
		sync.Mutex
		waiting [][]byte
		bytes   int
		dropped int
		// idle is closed when everything is written; nil while nothing is being written.
		idle chan struct{}
	}
}

// NewLogWriter returns a LogWriter to w.
func NewLogWriter(w io.Writer) *LogWriter {
	return &LogWriter{w: w, report: func(lines int) []byte { return fmt.Appendf(nil, "%s lines=%d\n", linesDropped, lines) }}
}

// linesDropped is the message for lines that were dropped.
const linesDropped = "lines of the log were dropped: its reader is too slow"

// Write takes a line. It never fails.
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

// writeAll writes lines until none waits.
func (l *LogWriter) writeAll() {
	for line := l.nextLine(); line != nil; line = l.nextLine() {
		_, _ = l.w.Write(line) // there is no other place to say it
	}
}

// nextLine returns the line that has waited longest; without one the goroutine ends.
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

// Flush waits until all lines are written, for a second at most.
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

// errorFlusher is a handler whose errors are written when Handle returns.
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
