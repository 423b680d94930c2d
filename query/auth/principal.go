package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Errors of requests.
var (
	// ErrUnauthenticated says that a credential is missing or invalid. It does not
	// say why.
	ErrUnauthenticated = errors.New("not authenticated")
	// ErrForbidden says that this principal may not do that.
	ErrForbidden = errors.New("not permitted")
)

// Principal is who sends a request. It is not changed once it is made.
type Principal struct {
	Actor account.Actor
	// Role is empty for anonymous requests.
	Role account.Role
	// Scopes are what the credential is good for.
	Scopes []account.Scope
	// Repositories restrict the credential; nil is no restriction, empty is none
	// at all.
	Repositories map[code.RepositoryID]struct{}
}

// Anonymous reports whether the request had no credential.
func (p *Principal) Anonymous() bool { return p.Actor.Kind == account.ActorAnonymous }

// Owner reports whether p administers the instance with this credential.
func (p *Principal) Owner() bool { return p.Role == account.RoleOwner && p.Has(account.ScopeAdmin) }

// Has reports whether the credential is good for s.
func (p *Principal) Has(s account.Scope) bool { return slices.Contains(p.Scopes, s) }

// Need returns an error that wraps ErrForbidden unless the credential is good for s.
func (p *Principal) Need(s account.Scope) error {
	if p.Has(s) {
		return nil
	}
	return fmt.Errorf("%w: the credential lacks the scope %q", ErrForbidden, string(s))
}

// Visible says which repositories exist for a caller. The zero value means all of
// them, and is only for callers whose role lets them see every repository:
// responses to other callers omit statistics that would reveal hidden text. A
// Visible value never changes its answers, so that one response reflects one state.
// Equal values give equal answers, so lists are cached by Visible; its source
// returns the same value while nothing has changed. It is safe for concurrent use.
type Visible struct {
	sees *func(r *code.Repository) bool
}

// Only returns a Visible that answers by sees, and equals no other.
func Only(sees func(r *code.Repository) bool) Visible { return Visible{&sees} }

// Everything reports whether all repositories exist, whatever there is.
func (v Visible) Everything() bool { return v.sees == nil }

// Sees reports whether r exists.
func (v Visible) Sees(r *code.Repository) bool { return v.sees == nil || (*v.sees)(r) }

type principalKey struct{}

// With returns a context that carries p.
func With(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// From returns the principal of a request; one that may do nothing if there is
// none.
func From(ctx context.Context) *Principal {
	if p, ok := ctx.Value(principalKey{}).(*Principal); ok {
		return p
	}
	return &deniedPrincipal
}

var deniedPrincipal = Principal{Actor: account.Actor{Kind: account.ActorAnonymous}, Repositories: map[code.RepositoryID]struct{}{}}
