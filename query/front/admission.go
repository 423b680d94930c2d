package front

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// admitRequest authenticates the caller and checks that it may send this request now. It
// returns the request with the principal in its context.
func (f *Front) admitRequest(rt *Route, r *http.Request) (*http.Request, error) {
	x := exchangeOf(r)
	x.principal = anonymousPrincipal(r)
	x.address = x.principal.Actor.Address
	if rt.isOpen() {
		if err := f.chargeLimit(x, rt, costRequest); err != nil {
			return nil, err
		}
		return f.checkRequest(rt, r.WithContext(auth.With(r.Context(), x.principal)))
	}
	p, err := f.o.Authenticator.Authenticate(r)
	if err != nil {
		return nil, f.refuseCredential(x, rt, r, err)
	}
	x.principal = p
	if err := f.chargeLimit(x, rt, costRequest); err != nil {
		return nil, err
	}
	if err := rt.checkAccess(p); err != nil {
		x.refusal = audit.RequestDenied
		return nil, err
	}
	if r, err = f.checkRequest(rt, r.WithContext(auth.With(r.Context(), p))); err != nil {
		return nil, err
	}
	f.rotateSession(rt, r, x)
	return r, nil
}

// checkRequest checks the form of a request, except its body. It runs last: a request
// that is refused for another reason, or that matches no route, gets that error instead.
func (f *Front) checkRequest(rt *Route, r *http.Request) (*http.Request, error) {
	if rt.Path == UnknownRoute {
		return r, nil
	}
	if err := checkMediaType(r); err != nil {
		return nil, err
	}
	if rt.Check == nil {
		return r, nil
	}
	return rt.Check(r)
}

// rotateSession gives the session of a read request a new value if one is due. Requests
// that change accounts keep the session that they arrived with.
func (f *Front) rotateSession(rt *Route, r *http.Request, x *Exchange) {
	if f.o.Accounts == nil || rt.Access != AccessSearch && rt.Access != AccessGit {
		return
	}
	in, err := f.o.Accounts.Rotate(r.Context(), x.principal)
	if err != nil {
		f.o.Logger.WarnContext(r.Context(), "session not rotated", "request_id", x.id, "error", err)
		return
	}
	if in != nil {
		x.cookie = f.o.Accounts.Cookie(in)
	}
}

// refuseCredential returns the error for a missing or invalid credential. Callers that
// send many of them are rate limited.
func (f *Front) refuseCredential(x *Exchange, rt *Route, r *http.Request, err error) error {
	if !errors.Is(err, auth.ErrUnauthenticated) {
		return err
	}
	cost, refusal, advice := costRequest, audit.RequestDenied, "sign in, or send an API key as Authorization: Bearer KEY"
	if hasKey(r) || hasCookie(r) {
		cost, refusal, advice = costBadCredential, audit.CredentialRefused, "invalid or expired credential"
	}
	if err := f.chargeLimit(x, rt, cost); err != nil {
		return err
	}
	x.refusal = refusal
	return fmt.Errorf("%w: %s", auth.ErrUnauthenticated, advice)
}

// checkAccess returns an error if p may not use the route.
func (rt *Route) checkAccess(p *auth.Principal) error {
	switch rt.Access {
	case AccessOpen:
		return nil
	case AccessSearch:
		return needScope(p, account.ScopeSearch)
	case AccessGit:
		return needScope(p, account.ScopeGit)
	case AccessRead:
		if p.Has(account.ScopeGit) {
			return nil
		}
		return needScope(p, account.ScopeSearch)
	case AccessMember:
		if p.Anonymous() {
			return fmt.Errorf("%w: an account is required: sign in, or send an API key", auth.ErrUnauthenticated)
		}
		if p.Actor.Kind == account.ActorToken {
			return fmt.Errorf("%w: a scoped access token can only read code", auth.ErrForbidden)
		}
		return nil
	case AccessOwner:
		return rt.needOwner(p)
	case AccessScip:
		if p.Anonymous() {
			return fmt.Errorf("%w: an API key with the scope %s is required", auth.ErrUnauthenticated, account.ScopeScip)
		}
		if p.Role != account.RoleOwner {
			return fmt.Errorf("%w: the role %s is required", auth.ErrForbidden, account.RoleOwner)
		}
		return p.Need(account.ScopeScip)
	case AccessOperator:
		return needOperator(p)
	}
	return fmt.Errorf("%w: no caller may do this", auth.ErrForbidden)
}

// needScope lets anonymous requests pass: the Gate decides whether to accept them.
func needScope(p *auth.Principal, scope account.Scope) error {
	if p.Anonymous() {
		return nil
	}
	return p.Need(scope)
}

// needOwner lets an owner's restricted credential change only its own repositories:
// operations on the whole instance would reveal the others.
func (rt *Route) needOwner(p *auth.Principal) error {
	switch {
	case p.Owner() && p.Repositories != nil && !strings.Contains(rt.Path, "{repoId}"):
		return fmt.Errorf("%w: the credential is restricted to some repositories", auth.ErrForbidden)
	case p.Anonymous():
		return fmt.Errorf("%w: the credential of an owner is required", auth.ErrUnauthenticated)
	case p.Owner():
		return nil
	case p.Role == account.RoleOwner:
		return p.Need(account.ScopeAdmin)
	}
	return fmt.Errorf("%w: the role %s is required", auth.ErrForbidden, account.RoleOwner)
}

// needOperator admits only callers that can read the data directory. An owner's API key
// is not enough, because it may be used from anywhere.
func needOperator(p *auth.Principal) error {
	switch {
	case p.Actor.Kind == account.ActorOperator:
		return nil
	case p.Anonymous():
		return fmt.Errorf("%w: the token in the data directory of the server is required", auth.ErrUnauthenticated)
	}
	return fmt.Errorf("%w: the token in the data directory of the server is required: run the command on the machine of the server, as its user", auth.ErrForbidden)
}
