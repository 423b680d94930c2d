package front

import (
	"errors"
	"net/http"
	"runtime/debug"
)

// withRecovery turns a panic into a 500. If the response has begun, net/http closes the
// connection instead, so that no client mistakes a partial response for a complete one.
func (f *Front) withRecovery(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler { // deliberate: the response must be cut off
				panic(p)
			}
			x := exchangeOf(r)
			f.metrics.panics.Inc()
			f.o.Logger.ErrorContext(r.Context(), "panic in a request",
				"request_id", x.id, "route", x.route, "panic", p, "stack", string(debug.Stack()))
			x.status, x.err = http.StatusInternalServerError, nil
			if x.response.hasBegun() {
				panic(http.ErrAbortHandler)
			}
			f.writeError(w, x, errPanic)
		}()
		next.ServeHTTP(w, r)
	})
}

// responseTracker tracks whether the response has begun, with which status, and the bytes
// of its body.
type responseTracker struct {
	http.ResponseWriter
	status int // 0 if the response has not begun
	bytes  int64
}

func (t *responseTracker) hasBegun() bool { return t.status != 0 }

// sentStatus returns the status that the client gets: net/http sends 200 for a handler
// that wrote nothing.
func (t *responseTracker) sentStatus() int {
	if t.status == 0 {
		return http.StatusOK
	}
	return t.status
}

// WriteHeader implements http.ResponseWriter. Statuses below 200 precede the response.
func (t *responseTracker) WriteHeader(status int) {
	if t.status == 0 && status >= http.StatusOK {
		t.status = status
	}
	t.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter. Without a status before it, it sends 200.
func (t *responseTracker) Write(b []byte) (int, error) {
	t.status = t.sentStatus()
	n, err := t.ResponseWriter.Write(b)
	t.bytes += int64(n)
	return n, err
}

// FlushError sends buffered data, preceded by a 200 if no status has been written;
// http.ResponseController calls it.
func (t *responseTracker) FlushError() error {
	err := http.NewResponseController(t.ResponseWriter).Flush()
	if !errors.Is(err, http.ErrNotSupported) {
		t.status = t.sentStatus()
	}
	return err
}

// Unwrap returns the underlying writer for http.ResponseController.
func (t *responseTracker) Unwrap() http.ResponseWriter { return t.ResponseWriter }
