package front

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"regexp"
	"time"
)

var requestIDPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// withObservation assigns the request ID, sets the response headers, and measures and
// logs the exchange.
func (f *Front) withObservation(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		x := &Exchange{id: r.Header.Get("X-Request-Id"), route: UnknownRoute, response: &responseTracker{ResponseWriter: w}}
		if !requestIDPattern.MatchString(x.id) {
			x.id = rand.Text()
		}
		f.setHeaders(w.Header(), x.id)
		f.metrics.inFlight.Inc()
		defer func() { // also runs if the connection is cut off
			f.metrics.inFlight.Dec()
			if x.status == 0 {
				x.status = x.response.sentStatus()
			}
			took := time.Since(start)
			f.metrics.observeRequest(x.route, x.status, took)
			f.logExchange(r, x, took)
		}()
		next.ServeHTTP(x.response, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
	})
}

// setHeaders sets the headers of every response. The API serves data, not pages, so
// nothing in a response may run or be framed. Pages override these headers.
func (f *Front) setHeaders(h http.Header, id string) {
	h.Set("X-Request-Id", id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "SAMEORIGIN")
	h.Set("Referrer-Policy", "strict-origin-when-cross-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'self'")
	h.Set("Cache-Control", "no-store")
	if f.secure {
		h.Set("Strict-Transport-Security", "max-age=63072000; includeSubDomains")
	}
}

// logExchange logs one line: at debug level for successes and client errors, as an error
// for server failures.
func (f *Front) logExchange(r *http.Request, x *Exchange, took time.Duration) {
	level := slog.LevelDebug
	if x.status == http.StatusInternalServerError {
		level = slog.LevelError
	}
	if !f.o.Logger.Enabled(r.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("request_id", x.id), slog.String("method", r.Method), slog.String("route", x.route),
		slog.Int("status", x.status), slog.Duration("duration", took),
	}
	if x.err != nil {
		attrs = append(attrs, slog.Any("error", x.err))
	}
	f.o.Logger.LogAttrs(r.Context(), level, "request", attrs...)
}
