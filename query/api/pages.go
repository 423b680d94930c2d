package api

import (
	"context"
	"net/http"

	"github.com/quarrysearch/quarry/schemas/audit"
)

// Page puts before a handler that is not of this API what is in front of every
// request: its ID, measures under the label, the checks of host and origin, the
// bounds of body and time, and the rate limit of an address. Who asks is for the
// handler to find out.
func (s *Server) Page(label string, next http.Handler) http.Handler {
	rt := &route{method: http.MethodPost, path: label, access: accessOpen}
	return s.outer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		x.route, x.principal = label, stranger(r)
		x.address = x.principal.Actor.Address
		if err := s.take(x, rt, costRequest); err != nil {
			p := errorReply(err, x.id)
			x.status, x.err = p.status, err
			_ = s.writeDown(rt, r, x) // the answer says no, whether it is written down or not
			x.pace.headers(w.Header())
			_ = p.write(w) // a client that has gone needs no answer
			return
		}
		written := &statusTracker{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(written, r)
		x.status = written.status
	}))
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

// Note has a record written down as the API's are; an error says that what it is
// about must not be shown.
func (s *Server) Note(ctx context.Context, rec audit.Record) error { return s.o.Audit.Note(ctx, rec) }
