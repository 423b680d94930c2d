package front

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/quarrysearch/quarry/schemas/audit"
)

// UnknownRoute is the metrics label of requests that match no route.
const UnknownRoute = "unknown"

// Route is one operation.
type Route struct {
	// Method and Path select the route's requests; Path is the label of its metrics.
	Method, Path string
	// Access is the access rule, Action the name of the request in the audit log; an
	// empty Action is not audited.
	Access Access
	Action audit.Action
	// FreesSpace marks a request that frees space, and is therefore accepted when other
	// changes are not.
	FreesSpace bool
	// Follows marks a response that may stay open until the caller leaves. It is counted
	// separately from other streams and recorded when it begins, and its credential is
	// checked at each write.
	Follows bool
	// MaxBodyBytes and BodyTime bound the body of an upload; 0 for other requests.
	MaxBodyBytes int64
	BodyTime     time.Duration
	// Check is called after the caller is admitted and before the handler. It returns the
	// request for the handler, or an error about the form of the request. Nil checks
	// nothing.
	Check func(r *http.Request) (*http.Request, error)
}

// Access is the permission that a route requires. The zero value admits no caller.
type Access int

// The access rules.
const (
	AccessNobody   Access = iota
	AccessOpen            // nothing
	AccessSearch          // the search scope; anonymous requests where they are allowed
	AccessGit             // the git scope; anonymous requests where they are allowed
	AccessRead            // the search or the git scope, depending on the request
	AccessMember          // a user, by session or API key
	AccessOwner           // an owner with the admin scope, or the operator
	AccessScip            // the scip scope, which owners and their keys have
	AccessOperator        // the operator
)

// Validate returns an error for a route without a valid access rule.
func (rt *Route) Validate() error {
	if rt.Access <= AccessNobody || rt.Access > AccessOperator {
		return fmt.Errorf("%s %s: it has no access rule", rt.Method, rt.Path)
	}
	return nil
}

// ChangesState reports whether requests of the route make changes that no account event
// records.
func (rt *Route) ChangesState() bool {
	return rt.Action != "" && rt.Access >= AccessOwner && rt.Method != http.MethodGet
}

// BeginsSession reports whether callers without a session may send requests of the route
// that change something, such as a sign-in.
func (rt *Route) BeginsSession() bool { return rt.isOpen() && rt.Method != http.MethodGet }

// isOpen reports whether the route is open to every caller. Open routes ignore
// credentials: a probe or a sign-in works regardless of the credential sent with it.
func (rt *Route) isOpen() bool { return rt.Access == AccessOpen }

// isRateLimited reports whether the route counts against a rate limit. All routes do
// except those of probes, which cost nothing and must be answered.
func (rt *Route) isRateLimited() bool { return !rt.isOpen() || rt.Method != http.MethodGet }

// HandleRoute returns the handler of a route: it labels the request, authorizes the
// caller, runs handle, and records the request in the audit log before it responds.
func (f *Front) HandleRoute(rt *Route, handle func(r *http.Request) (Answer, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		x.route = rt.Path
		defer f.recordPanic(rt, r, x)
		answer, err := f.answerRoute(rt, r, handle)
		if err != nil {
			answer, x.err = f.o.ErrorAnswer(err, x.id), err
		}
		defer answer.Release()
		x.status = answer.Status()
		if err := f.writeAuditRecord(rt, r, x); err != nil {
			err = f.unrecordedError(rt, x, err)
			x.setHeaders(w.Header())
			f.writeError(w, x, err)
			return
		}
		x.setHeaders(w.Header())
		if err := answer.Write(w); err != nil && x.err == nil {
			x.err = fmt.Errorf("write the answer: %w", err)
		}
	})
}

func (f *Front) answerRoute(rt *Route, r *http.Request, handle func(r *http.Request) (Answer, error)) (Answer, error) {
	admitted, err := f.admitRequest(rt, r)
	if err != nil {
		return nil, err
	}
	if err := f.checkWritable(rt); err != nil {
		return nil, err
	}
	if rt.MaxBodyBytes > 0 {
		f.admitUpload(rt, exchangeOf(r), admitted)
	}
	return handle(admitted)
}

// writeError responds with an error and keeps it for metrics and the log.
func (f *Front) writeError(w http.ResponseWriter, x *Exchange, err error) {
	answer := f.o.ErrorAnswer(err, x.id)
	defer answer.Release()
	x.status, x.err = answer.Status(), err
	_ = answer.Write(w) // the client may have disconnected
}

// Refuse returns a handler, for use below WithChecks, that answers every request with
// err.
func (f *Front) Refuse(err error) http.Handler {
	rt := &Route{Method: http.MethodGet, Path: UnknownRoute, Access: AccessOpen}
	return f.HandleRoute(rt, func(*http.Request) (Answer, error) { return nil, err })
}

// StreamRoute returns the handler of a route that writes its own response. If stream
// returns an error before the response has begun, StreamRoute writes the error response.
func (f *Front) StreamRoute(rt *Route, stream func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		x.route = rt.Path
		defer f.recordPanic(rt, r, x)
		if x.err = f.answerStream(rt, w, r, stream); x.err != nil {
			x.status = f.o.ErrorAnswer(x.err, x.id).Status()
		} else {
			x.status = x.response.sentStatus()
		}
		if err := f.writeAuditRecord(rt, r, x); err != nil {
			x.err = errors.Join(x.err, err)
		}
		if x.err == nil || x.response.hasBegun() {
			return
		}
		x.setHeaders(w.Header())
		f.writeError(w, x, x.err)
	})
}

// answerStream authorizes a request and runs its handler. Actions of owners and requests
// that may stay open are recorded before they begin, because the response cannot be
// changed after that.
func (f *Front) answerStream(rt *Route, w http.ResponseWriter, r *http.Request, stream func(w http.ResponseWriter, r *http.Request) error) error {
	x := exchangeOf(r)
	admitted, err := f.admitRequest(rt, r)
	if err != nil {
		return err
	}
	if err := f.checkWritable(rt); err != nil {
		return err
	}
	leave, err := f.enterStream(rt, x)
	if err != nil {
		return err
	}
	defer leave()
	watched := rt.Access >= AccessOwner || rt.Follows
	if watched {
		x.status = http.StatusOK
		if err := f.writeAuditRecord(rt, r, x); err != nil {
			return err
		}
		x.done = false
	}
	x.setHeaders(w.Header())
	if !watched {
		return stream(w, admitted)
	}
	checked, admitted, stop := f.watchStream(rt, w, admitted)
	defer stop()
	err = stream(checked, admitted)
	checked.cutOff()
	return err
}
