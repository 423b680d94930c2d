package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// exchange is the state that the layers around a handler share.
type exchange struct {
	id     string
	route  string
	status int
	err    error
	// control sets the deadlines of the connection.
	control *http.ResponseController
	form    requestForm

	// Principal, client address and rate limit of the caller; see admission.go.
	principal *auth.Principal
	address   string
	pace      *paceState
	// cookie is a session that has taken the place of the one that was sent.
	cookie *http.Cookie
	// What the audit log says; see auditing.go. refusal is set where the request
	// did not get through.
	targetType audit.TargetType
	target     string
	metadata   map[string]string
	refusal    audit.Action
	recorded   bool
	done       bool // the handler has returned, without a panic
}

// exchangeKey is the key of the exchange in a request's context.
type exchangeKey struct{}

// configureOrigins makes what outer needs.
func (s *Server) configureOrigins() error {
	s.origins = http.NewCrossOriginProtection()
	for _, origin := range append([]string{s.publicOrigin()}, s.o.AllowedOrigins...) {
		if origin == anyOrigin {
			continue
		}
		if err := s.origins.AddTrustedOrigin(origin); err != nil {
			return fmt.Errorf("api: allowed origins: %w", err)
		}
	}
	s.origins.SetDenyHandler(s.errorHandler(errCrossOrigin))
	return nil
}

// withMiddleware puts around a handler, from outside in: exchange and headers, measuring,
// recovery, the checks of hosts and origins, bounds.
func (s *Server) withMiddleware(next http.Handler) http.Handler {
	return s.withObservation(s.withRecovery(s.checkHost(s.withCORS(s.checkOrigin(s.limitBody(next))))))
}

var requestIDPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// withObservation gives the request its ID and the answer its headers, and measures and
// logs the exchange.
func (s *Server) withObservation(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		x := &exchange{id: r.Header.Get("X-Request-Id"), route: unknownRoute, status: http.StatusOK}
		if !requestIDPattern.MatchString(x.id) {
			x.id = rand.Text()
		}
		s.setHeaders(w.Header(), x.id)
		s.metrics.inFlight.Inc()
		defer s.metrics.inFlight.Dec()
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
		took := time.Since(start)
		s.metrics.observeRequest(x.route, x.status, took)
		s.logExchange(r, x, took)
	})
}

// setHeaders sets what every answer carries. The API serves data, no pages:
// nothing in an answer may run or be framed.
func (s *Server) setHeaders(h http.Header, id string) {
	h.Set("X-Request-Id", id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "SAMEORIGIN")
	h.Set("Referrer-Policy", "strict-origin-when-cross-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'self'")
	h.Set("Cache-Control", "no-store")
	if s.secure {
		h.Set("Strict-Transport-Security", "max-age=63072000; includeSubDomains")
	}
}

// withRecovery turns a panic into a 500. What was already sent stays sent; the
// connection is then closed by net/http, so that no client takes half an answer
// for a whole one.
func (s *Server) withRecovery(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		written := &headerTracker{ResponseWriter: w}
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler { // no mistake: an answer that is to break off
				panic(p)
			}
			x := exchangeOf(r)
			s.metrics.panics.Inc()
			s.o.Logger.ErrorContext(r.Context(), "panic in a request",
				"request_id", x.id, "route", x.route, "panic", p, "stack", string(debug.Stack()))
			x.status, x.err = http.StatusInternalServerError, nil
			if written.sent {
				panic(http.ErrAbortHandler)
			}
			_ = errorReply(errors.New("panic"), x.id).write(w)
		}()
		next.ServeHTTP(written, r)
	})
}

// headerTracker knows whether the status was sent.
type headerTracker struct {
	http.ResponseWriter
	sent bool
}

// WriteHeader implements http.ResponseWriter.
func (t *headerTracker) WriteHeader(status int) {
	t.sent = true
	t.ResponseWriter.WriteHeader(status)
}

// Unwrap serves http.ResponseController.
func (t *headerTracker) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// limitBody limits the size of what comes in, and the time in which it comes and the
// answer goes. Writers without deadlines (tests) are fine.
func (s *Server) limitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		now := time.Now()
		_ = control.SetWriteDeadline(now.Add(s.o.ReadTimeout + s.o.SearchTimeout + s.o.WriteTimeout))
		if r.ContentLength != 0 {
			// Also for bodies that no handler reads: net/http reads them after the
			// response.
			_ = control.SetReadDeadline(now.Add(s.o.ReadTimeout))
			r.Body = &timedBody{http.MaxBytesReader(w, r.Body, s.o.MaxBodyBytes), control}
		}
		exchangeOf(r).control = control
		next.ServeHTTP(w, r)
	})
}

// timedBody lifts the deadline of the connection once the body has come: it would
// end the request.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.control.SetReadDeadline(noDeadline)
	}
	return n, err
}

// handleRoute returns the handler of a route: it labels the request, authorizes the
// caller, and records the request in the audit log.
func (s *Server) handleRoute(rt *route) http.Handler {
	if rt.stream != nil {
		return s.serveStream(rt)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		x.route = rt.path
		defer s.recordPanic(rt, r, x)
		p, err := s.answerRoute(rt, r)
		if err != nil {
			p, x.err = errorReply(err, x.id), err
		}
		x.status = p.status
		if p.release != nil {
			defer p.release()
		}
		if err := s.writeAuditRecord(rt, r, x); err != nil {
			err = s.unrecordedError(rt, x, err)
			p, x.err = errorReply(err, x.id), err
			x.status = p.status
		}
		x.setHeaders(w.Header())
		if err := p.write(w); err != nil && x.err == nil {
			x.err = fmt.Errorf("write the answer: %w", err)
		}
	})
}

func (s *Server) answerRoute(rt *route, r *http.Request) (*reply, error) {
	admitted, err := s.admitRequest(rt, r)
	if err != nil {
		return nil, err
	}
	if err := s.checkWritable(rt); err != nil {
		return nil, err
	}
	return rt.handler(admitted)
}

// serveStream makes a handler of a route that writes its answer by itself. Its
// errors are answered here unless the answer has begun.
func (s *Server) serveStream(rt *route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		x.route = rt.path
		defer s.recordPanic(rt, r, x)
		if x.err = s.answerStream(rt, w, r); x.err != nil {
			x.status = errorReply(x.err, x.id).status
		}
		if err := s.writeAuditRecord(rt, r, x); err != nil {
			x.err = errors.Join(x.err, err)
		}
		if _, begun := errors.AsType[*midStreamError](x.err); begun || x.err == nil {
			return
		}
		x.setHeaders(w.Header())
		if err := errorReply(x.err, x.id).write(w); err != nil {
			x.err = fmt.Errorf("write the answer: %w", err)
		}
	})
}

// answerStream authorizes a request and runs its handler. An owner's action is recorded
// before it begins, because the response cannot be changed once it has begun.
func (s *Server) answerStream(rt *route, w http.ResponseWriter, r *http.Request) error {
	x := exchangeOf(r)
	admitted, err := s.admitRequest(rt, r)
	if err != nil {
		return err
	}
	if err := s.checkWritable(rt); err != nil {
		return err
	}
	leave, err := s.enterStream(x)
	if err != nil {
		return err
	}
	defer leave()
	if rt.access >= accessOwner {
		if err := s.writeAuditRecord(rt, r, x); err != nil {
			return err
		}
		x.done = false
	}
	x.setHeaders(w.Header())
	if rt.access < accessOwner {
		return rt.stream(w, admitted)
	}
	watched, admitted, stop := s.watchStream(rt, w, admitted)
	defer stop()
	err = rt.stream(watched, admitted)
	watched.cutOff()
	return err
}

// errorHandler returns a handler that answers every request with err.
func (s *Server) errorHandler(err error) http.Handler {
	return s.handleRoute(&route{
		method: http.MethodGet, path: unknownRoute, access: accessOpen,
		handler: func(*http.Request) (*reply, error) { return nil, err },
	})
}

func exchangeOf(r *http.Request) *exchange {
	return r.Context().Value(exchangeKey{}).(*exchange)
}

// logExchange writes one line: at debug level for successes and client errors, as
// an error for our own failures.
func (s *Server) logExchange(r *http.Request, x *exchange, took time.Duration) {
	level := slog.LevelDebug
	if x.status == http.StatusInternalServerError {
		level = slog.LevelError
	}
	if !s.o.Logger.Enabled(r.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("request_id", x.id), slog.String("method", r.Method), slog.String("route", x.route),
		slog.Int("status", x.status), slog.Duration("duration", took),
	}
	if x.err != nil {
		attrs = append(attrs, slog.Any("error", x.err))
	}
	s.o.Logger.LogAttrs(r.Context(), level, "request", attrs...)
}
