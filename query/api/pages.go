package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Page wraps a handler outside of this API in the checks of every request: a
// request ID, metrics under the label, the checks of host and origin, limits of
// body and time, and the rate limit of an address. The handler authenticates the
// caller.
func (s *Server) Page(label string, next http.Handler) http.Handler {
	rt := &route{method: http.MethodPost, path: label, access: accessOpen}
	return s.withMiddleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		x.route, x.principal = label, anonymousPrincipal(r)
		x.address = x.principal.Actor.Address
		if err := s.chargeLimit(x, rt, costRequest); err != nil {
			p := errorReply(err, x.id)
			x.status, x.err = p.status, err
			_ = s.writeAuditRecord(rt, r, x) // the answer says no, whether it is written down or not
			x.pace.setHeaders(w.Header())
			_ = p.write(w) // a client that has gone needs no answer
			return
		}
		written := &statusTracker{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(written, r)
		x.status = written.status
	}))
}

// CodePage wraps a page that shows code in the checks of GET /api/source: those of
// Page, the credential with its scope, and its rate limit. The page finds the
// principal in its context (auth.From) and records what it shows. fail writes the
// response for callers who may not read code, or who cannot be authenticated yet.
func (s *Server) CodePage(label string, page http.Handler, fail func(w http.ResponseWriter, r *http.Request, err error)) http.Handler {
	rt := &route{method: http.MethodGet, path: label, access: accessGit}
	return s.withMiddleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		x.route = label
		written := &statusTracker{ResponseWriter: w, status: http.StatusOK}
		admitted, err := s.admitRequest(rt, r)
		if x.refusal != "" {
			x.status = failureOf(err).status
			_ = s.writeAuditRecord(rt, r, x) // the answer says no, whether it is written down or not
		}
		x.setHeaders(w.Header())
		switch {
		case err == nil:
			page.ServeHTTP(written, admitted)
		case errors.Is(err, auth.ErrUnauthenticated), errors.Is(err, auth.ErrForbidden), errors.Is(err, auth.ErrNotReady):
			x.err = err
			fail(written, r, err)
		default:
			p := errorReply(err, x.id)
			x.err, written.status = err, p.status
			_ = p.write(w) // a client that has gone needs no answer
		}
		x.status = written.status
	}))
}

// Repository returns the repository with that full name if it exists for the
// context's principal. The error wraps code.ErrNotFound.
func (s *Server) Repository(ctx context.Context, name string) (*code.Repository, error) {
	return s.visibleRepository(ctx, name)
}

// statusTracker knows which status was sent.
type statusTracker struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (t *statusTracker) WriteHeader(status int) {
	t.status = status
	t.ResponseWriter.WriteHeader(status)
}

// Unwrap serves http.ResponseController.
func (t *statusTracker) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// Note records like the API; on error the data that the record is about must not be
// shown.
func (s *Server) Note(ctx context.Context, rec audit.Record) error { return s.o.Audit.Note(ctx, rec) }
