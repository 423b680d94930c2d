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
	// ErrUnauthenticated reports a missing or invalid credential. It does not give the
	// reason.
	ErrUnauthenticated = errors.New("not authenticated")
	// ErrForbidden reports that the principal lacks the permission.
	ErrForbidden = errors.New("not permitted")
)

// Principal is the sender of a request. It is immutable.
type Principal struct {
	Actor account.Actor
	// Role is empty for anonymous requests.
	Role account.Role
	// Scopes are the scopes of the credential.
	Scopes []account.Scope
	// Repositories restrict the credential; nil means no restriction, and empty means no
	// repository at all.
	Repositories map[code.RepositoryID]struct{}
}

// Anonymous reports whether the request had no credential.
func (p *Principal) Anonymous() bool { return p.Actor.Kind == account.ActorAnonymous }

// Owner reports whether p administers the instance with this credential.
func (p *Principal) Owner() bool { return p.Role == account.RoleOwner && p.Has(account.ScopeAdmin) }

// Has reports whether the credential has the scope s.
func (p *Principal) Has(s account.Scope) bool { return slices.Contains(p.Scopes, s) }

// Need returns an error that wraps ErrForbidden unless the credential has the scope s.
func (p *Principal) Need(s account.Scope) error {
	if p.Has(s) {
		return nil
	}
	return fmt.Errorf("%w: the credential lacks the scope %q", ErrForbidden, string(s))
}

// Visible determines which repositories exist for a caller. The zero value means all of
// them, and is only for callers whose role lets them see every repository: responses to
// other callers omit statistics that would reveal hidden text. The results of a Visible
// never change, so that one response reflects one state. Equal values give equal results,
// so lists are cached by Visible; Service.Visible returns the same value as long as
// nothing changes. It is safe for concurrent use.
type Visible struct {
	sees *func(r *code.Repository) bool
}

// Only returns a Visible that uses sees, and equals no other.
func Only(sees func(r *code.Repository) bool) Visible { return Visible{&sees} }

// Everything reports whether all repositories exist for the caller, present and future.
func (v Visible) Everything() bool { return v.sees == nil }

// Sees reports whether r exists for the caller.
func (v Visible) Sees(r *code.Repository) bool { return v.sees == nil || (*v.sees)(r) }

type principalKey struct{}

// With returns a context that carries p.
func With(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// From returns the principal of a request, or a principal without any permission if there
// is none.
func From(ctx context.Context) *Principal {
	if p, ok := ctx.Value(principalKey{}).(*Principal); ok {
		return p
	}
	return &deniedPrincipal
}

var deniedPrincipal = Principal{Actor: account.Actor{Kind: account.ActorAnonymous}, Repositories: map[code.RepositoryID]struct{}{}}
