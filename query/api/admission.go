package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// isOpen reports whether the route is open to every caller. It ignores credentials: a
// probe or a sign-in works whatever is sent with it.
func (rt *route) isOpen() bool { return rt.access == accessOpen }

// isRateLimited reports whether the route counts against a rate limit: all do but what
// probes ask for, which costs nothing and has to be answered.
func (rt *route) isRateLimited() bool { return !rt.isOpen() || rt.method != http.MethodGet }

// admitRequest authenticates the caller and checks that it may send this request now. The
// request it returns carries the principal.
func (s *Server) admitRequest(rt *route, r *http.Request) (*http.Request, error) {
	x := exchangeOf(r)
	x.principal = anonymousPrincipal(r)
	x.address = x.principal.Actor.Address
	if rt.isOpen() {
		if err := s.chargeLimit(x, rt, costRequest); err != nil {
			return nil, err
		}
		return r.WithContext(auth.With(r.Context(), x.principal)), s.checkRequest(rt, r)
	}
	p, err := s.o.Gate.Authenticate(r)
	if err != nil {
		return nil, s.refuseCredential(x, rt, r, err)
	}
	x.principal = p
	if err := s.chargeLimit(x, rt, costRequest); err != nil {
		return nil, err
	}
	if err := rt.checkAccess(p); err != nil {
		x.refusal = audit.RequestDenied
		return nil, err
	}
	if err := s.checkRequest(rt, r); err != nil {
		return nil, err
	}
	s.rotateSession(rt, r, x)
	return r.WithContext(auth.With(r.Context(), p)), nil
}

// checkRequest checks what it can without the body of the request. A request that
// is refused for another reason, or that matches no route, gets that error whatever
// its form.
func (s *Server) checkRequest(rt *route, r *http.Request) error {
	if rt.path == unknownRoute {
		return nil
	}
	if err := checkMediaType(r); err != nil {
		return err
	}
	return s.checkParameters(rt, r)
}

// rotateSession has the session of a request that reads take a new value, if it is due.
// What changes accounts goes by the session that it came with.
func (s *Server) rotateSession(rt *route, r *http.Request, x *exchange) {
	if s.o.Accounts == nil || rt.access != accessSearch && rt.access != accessGit {
		return
	}
	in, err := s.o.Accounts.Rotate(r.Context(), x.principal)
	if err != nil {
		s.o.Logger.WarnContext(r.Context(), "session not rotated", "request_id", x.id, "error", err)
		return
	}
	if in != nil {
		x.cookie = s.o.Accounts.Cookie(in)
	}
}

// refuseCredential returns the error for a missing or invalid credential. Callers that try many
// are rate limited.
func (s *Server) refuseCredential(x *exchange, rt *route, r *http.Request, err error) error {
	if !errors.Is(err, auth.ErrUnauthenticated) {
		return err
	}
	cost, refusal, advice := costRequest, audit.RequestDenied, "sign in, or send an API key as Authorization: Bearer KEY"
	if hasCredential(r) {
		cost, refusal, advice = costBadCredential, audit.CredentialRefused, "invalid or expired credential"
	}
	if err := s.chargeLimit(x, rt, cost); err != nil {
		return err
	}
	x.refusal = refusal
	return fmt.Errorf("%w: %s", auth.ErrUnauthenticated, advice)
}

// checkAccess says whether p may ask for the route.
func (rt *route) checkAccess(p *auth.Principal) error {
	switch rt.access {
	case accessOpen:
		return nil
	case accessSearch:
		return needScope(p, account.ScopeSearch)
	case accessGit:
		return needScope(p, account.ScopeGit)
	case accessRead:
		if p.Has(account.ScopeGit) {
			return nil
		}
		return needScope(p, account.ScopeSearch)
	case accessMember:
		if p.Anonymous() {
			return fmt.Errorf("%w: this needs an account: sign in, or send an API key", auth.ErrUnauthenticated)
		}
		if p.Actor.Kind == account.ActorToken {
			return fmt.Errorf("%w: a scoped access token reads code and nothing else", auth.ErrForbidden)
		}
		return nil
	case accessOwner:
		return rt.needOwner(p)
	case accessOperator:
		return needOperator(p)
	}
	return fmt.Errorf("%w: no caller may do this", auth.ErrForbidden)
}

// needScope lets anonymous requests pass: whether there are any is the Gate's decision.
func needScope(p *auth.Principal, scope account.Scope) error {
	if p.Anonymous() {
		return nil
	}
	return p.Need(scope)
}

// needOwner lets a restricted credential of an owner change its own repositories
// only: operations on the whole instance would reveal the others.
func (rt *route) needOwner(p *auth.Principal) error {
	switch {
	case p.Owner() && p.Repositories != nil && !strings.Contains(rt.path, "{repoId}"):
		return fmt.Errorf("%w: the credential is restricted to some repositories", auth.ErrForbidden)
	case p.Anonymous():
		return fmt.Errorf("%w: this needs the credential of an owner", auth.ErrUnauthenticated)
	case p.Owner():
		return nil
	case p.Role == account.RoleOwner:
		return p.Need(account.ScopeAdmin)
	}
	return fmt.Errorf("%w: this needs the role %s", auth.ErrForbidden, account.RoleOwner)
}

// needOperator admits only callers that can read the data directory. An API key of
// an owner may come from anywhere.
func needOperator(p *auth.Principal) error {
	switch {
	case p.Actor.Kind == account.ActorOperator:
		return nil
	case p.Anonymous():
		return fmt.Errorf("%w: this needs the token in the data directory of the server", auth.ErrUnauthenticated)
	}
	return fmt.Errorf("%w: this needs the token in the data directory of the server: run the command on its machine, as its user", auth.ErrForbidden)
}

// OwnersOnly puts the check for an owner, the bounds and the audit log in front of
// a handler that is not of this API.
func (s *Server) OwnersOnly(label string, action audit.Action, next http.Handler) http.Handler {
	rt := &route{method: http.MethodGet, path: label, access: accessOwner, action: action}
	rt.stream = func(w http.ResponseWriter, r *http.Request) error {
		// The stream may take as long as its reader wants.
		_ = http.NewResponseController(w).SetWriteDeadline(noDeadline)
		next.ServeHTTP(w, r)
		return nil
	}
	return s.withMiddleware(s.handleRoute(rt))
}

// callerVisibility returns which repositories exist for the caller in the context.
func (s *Server) callerVisibility(ctx context.Context) auth.Visible {
	return s.o.Gate.Visible(auth.From(ctx))
}
