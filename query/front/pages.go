package front

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// Page wraps a page in the checks of every request: request ID, metrics under the given
// label, checks of host and origin, limits of body and time, and the rate limit of an
// address. The page authenticates the caller. Requests that change something must come
// from this origin, even if all origins are allowed.
func (f *Front) Page(label string, page http.Handler) http.Handler {
	rt := &Route{Method: http.MethodPost, Path: label, Access: AccessOpen}
	return f.withChecks(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		x.route, x.principal = label, anonymousPrincipal(r)
		x.address = x.principal.Actor.Address
		if err := f.chargeLimit(x, rt, costRequest); err != nil {
			f.refusePage(w, r, rt, err)
			return
		}
		page.ServeHTTP(w, r)
	}), func(*http.Request) bool { return true })
}

// CodePage wraps a page that shows code in the checks of GET /api/source: those of Page,
// the credential with its scope, and its rate limit. The page gets the principal from its
// context (auth.From) and records what it shows. fail writes the response for callers who
// may not read code, or who cannot be authenticated yet.
func (f *Front) CodePage(label string, page http.Handler, fail func(w http.ResponseWriter, r *http.Request, err error)) http.Handler {
	return f.admittedPage(&Route{Method: http.MethodGet, Path: label, Access: AccessGit}, page, fail)
}

// SearchPage is CodePage for a page that searches: it requires the search scope and
// counts as one of the caller's streams, and fail also writes the response for a caller
// that sends too many requests.
func (f *Front) SearchPage(label string, page http.Handler, fail func(w http.ResponseWriter, r *http.Request, err error)) http.Handler {
	rt := &Route{Method: http.MethodGet, Path: label, Access: AccessSearch}
	return f.admittedPage(rt, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leave, err := f.enterStream(rt, exchangeOf(r))
		if err != nil {
			f.recordRefusal(rt, r, exchangeOf(r), err)
			fail(w, r, err)
			return
		}
		defer leave()
		page.ServeHTTP(w, r)
	}), fail)
}

// admittedPage wraps a page in the checks of a route.
func (f *Front) admittedPage(rt *Route, page http.Handler, fail func(w http.ResponseWriter, r *http.Request, err error)) http.Handler {
	return f.WithChecks(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		x.route = rt.Path
		admitted, err := f.admitRequest(rt, r)
		_, isLimited := errors.AsType[*RateError](err)
		switch {
		case err == nil:
			x.setHeaders(w.Header())
			page.ServeHTTP(w, admitted)
		case errors.Is(err, auth.ErrUnauthenticated), errors.Is(err, auth.ErrForbidden), errors.Is(err, auth.ErrNotReady), isLimited && rt.Access == AccessSearch:
			f.recordRefusal(rt, r, x, err)
			x.setHeaders(w.Header())
			fail(w, r, err)
		default:
			f.refusePage(w, r, rt, err)
		}
	}))
}

// refusePage responds with the API's error object, for errors that the page cannot
// explain better.
func (f *Front) refusePage(w http.ResponseWriter, r *http.Request, rt *Route, err error) {
	x := exchangeOf(r)
	f.recordRefusal(rt, r, x, err)
	x.setHeaders(w.Header())
	f.writeError(w, x, err)
}

// recordRefusal records a refused request if its route is audited. The response is a
// refusal whether or not the record is written.
func (f *Front) recordRefusal(rt *Route, r *http.Request, x *Exchange, err error) {
	x.err = err
	if x.refusal == "" {
		return
	}
	x.status = f.o.ErrorAnswer(err, x.id).Status()
	_ = f.writeAuditRecord(rt, r, x)
	x.status = 0 // the page sets it
}

// OwnersOnly wraps a handler that streams in the owner check, the bounds and the audit
// log.
func (f *Front) OwnersOnly(label string, action audit.Action, next http.Handler) http.Handler {
	rt := &Route{Method: http.MethodGet, Path: label, Access: AccessOwner, Action: action}
	return f.WithChecks(f.StreamRoute(rt, func(w http.ResponseWriter, r *http.Request) error {
		// The stream may take as long as its reader needs.
		_ = http.NewResponseController(w).SetWriteDeadline(noDeadline)
		next.ServeHTTP(w, r)
		return nil
	}))
}

// OperatorOnly admits requests that carry the token of the data directory. It is for
// processes that have no accounts, and therefore no Front.
func OperatorOnly(token string, next http.Handler) http.Handler {
	return TokenOnly(token, "this process has no accounts; send the token from its data directory", next)
}

// TokenOnly admits requests that carry a token as Authorization: Bearer TOKEN. Others are
// answered with advice.
func TokenOnly(token, advice string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte("Bearer " + token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		if subtle.ConstantTimeCompare(given[:], want[:]) == 1 {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="quarry"`)
		writeRefusal(w, http.StatusUnauthorized, "NOT_AUTHENTICATED", "not authenticated: "+advice)
	})
}

// writeRefusal writes an error object of the API.
func writeRefusal(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// Ignore the error: the client may have disconnected.
	_, _ = fmt.Fprintf(w, `{"statusCode":%d,"errorCode":%q,"message":%q}`+"\n", status, code, message)
}
