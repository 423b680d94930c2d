package boot

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stuckWriter blocks all writes until it is released.
type stuckWriter struct {
	release chan struct{}
	mu      sync.Mutex
	lines   []string
}

func (w *stuckWriter) Write(p []byte) (int, error) {
	<-w.release
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, string(p))
	return len(p), nil
}

// TestLoggingDoesNotWaitForItsReader logs more lines than fit into the queue. Only an
// error waits, for one second, and dropped lines are counted.
func TestLoggingDoesNotWaitForItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stuckWriter{release: make(chan struct{})}
		lines := NewLogWriter(w)
		log, err := NewLogger(lines, slog.LevelInfo, FormatText)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		text := strings.Repeat("x", 10_000)
		for range 200 {
			log.Info("delivery", "text", text)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("information took %v, want 0", took)
		}
		log.With("key", 1).WithGroup("group").Error("why the process ends")
		if took := time.Since(began); took != logFlushTimeout {
			t.Errorf("an error took %v, want %v", took, logFlushTimeout)
		}
		close(w.release)
		lines.Flush()
		synctest.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		last := w.lines[len(w.lines)-1]
		if n := len(w.lines); n < 100 || n > 110 || !strings.Contains(last, "dropped") {
			t.Errorf("%d lines, the last one is %.200q", n, last)
		}
	})
}

// TestErrorIsWrittenBeforeItReturns uses a writer that does not block.
func TestErrorIsWrittenBeforeItReturns(t *testing.T) {
	w := &stuckWriter{release: make(chan struct{})}
	close(w.release)
	log, err := NewLogger(NewLogWriter(w), slog.LevelInfo, FormatJSON)
	if err != nil {
		t.Fatal(err)
	}
	log.Error("why the process ends")
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.lines) != 1 {
		t.Errorf("lines %q, want the error", w.lines)
	}
}
