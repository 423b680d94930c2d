package front

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/tracing"
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
		ctx, span := r.Context(), tracing.Span{}
		if !slices.Contains(f.o.Probes, r.URL.Path) {
			ctx, span = f.o.Tracer.StartRequest(r)
			span.SetWord("quarry.request_id", x.id)
		}
		f.metrics.inFlight.Inc()
		defer func() { // also runs if the connection is cut off
			f.metrics.inFlight.Dec()
			if x.status == 0 {
				x.status = x.response.sentStatus()
			}
			took := time.Since(start)
			span.EndRequest(r.Method, x.route, x.status)
			tracing.Observe(f.metrics.seconds.WithLabelValues(x.route, strconv.Itoa(x.status)), took.Seconds(), span.TraceID())
			f.logExchange(r, x, took, span.TraceID())
		}()
		next.ServeHTTP(x.response, r.WithContext(context.WithValue(ctx, exchangeKey{}, x)))
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

// maxLoggedPath bounds the path of a request in the log.
const maxLoggedPath = 512

// logExchange logs one line: an error for server failures; otherwise at info level if
// Options.LogsRequests is set, except successful probes, and at debug level if not. It
// leaves out the query of the address, which may contain text of searches and the secrets
// of invitations.
func (f *Front) logExchange(r *http.Request, x *Exchange, took time.Duration, traceID string) {
	level := slog.LevelDebug
	switch {
	case x.status == http.StatusInternalServerError:
		level = slog.LevelError
	case f.logsRequests.Load() && (x.status >= http.StatusBadRequest || !slices.Contains(f.o.Probes, r.URL.Path)):
		level = slog.LevelInfo
	}
	if !f.o.Logger.Enabled(r.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("request_id", x.id), slog.String("method", r.Method), slog.String("route", x.route),
		slog.String("path", failure.Cut(r.URL.EscapedPath(), maxLoggedPath)),
		slog.Int("status", x.status), slog.Int64("response_bytes", x.response.bytes), slog.Duration("duration", took),
	}
	if traceID != "" {
		attrs = append(attrs, slog.String(tracing.IDKey, traceID))
	}
	if x.principal != nil {
		a := &x.principal.Actor
		attrs = append(attrs, slog.String("address", a.Address), slog.String("caller", string(a.Kind)))
		if a.Credential != "" {
			attrs = append(attrs, slog.String("credential", a.Credential))
		}
	}
	if x.err != nil {
		attrs = append(attrs, slog.Any("error", x.err))
	}
	f.o.Logger.LogAttrs(r.Context(), level, "request", attrs...)
}
