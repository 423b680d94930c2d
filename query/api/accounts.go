package api

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// accountHandler is a handler that requires accounts.
type accountHandler func(a *auth.Service, r *http.Request) (*reply, error)

// withAccounts converts h to a handler. Requests that the Service denies are recorded in
// the audit log, like those that the route denies.
func (s *Server) withAccounts(h accountHandler) handler {
	return func(r *http.Request) (*reply, error) {
		if s.o.Accounts == nil {
			return nil, fmt.Errorf("%w: this process has no accounts", failure.ErrUnavailable)
		}
		p, err := h(s.o.Accounts, r)
		if errors.Is(err, auth.ErrForbidden) {
			front.ExchangeIn(r.Context()).Deny()
		}
		return p, err
	}
}

// newUser converts an account as the established interface does; the state is an
// addition. Absent values are null there.
func newUser(u *account.User) wire.User {
	out := wire.User{
		ID: string(u.ID), Email: u.Email, Role: wire.Role(u.Role), State: wire.UserState(u.State), SuspendedAt: wire.At(u.SuspendedAt),
		CreatedAt: wire.At(u.CreatedAt), UpdatedAt: wire.At(u.UpdatedAt), LastActivityAt: wire.At(u.LastActivityAt),
	}
	if u.Name != "" {
		out.Name = &u.Name
	}
	return out
}

// newScopes never returns nil: it is an array in JSON.
func newScopes(scopes []account.Scope) []wire.Scope {
	out := make([]wire.Scope, len(scopes))
	for i, scope := range scopes {
		out[i] = wire.Scope(scope)
	}
	return out
}

// createdReply is the response of a request that created something, and noContentReply of
// one without a result.
func createdReply(body any) *reply { return &reply{status: http.StatusCreated, body: body} }

func noContentReply() *reply { return &reply{status: http.StatusNoContent} }

// noContentOrError returns noContentReply unless there was an error.
func noContentOrError(err error) (*reply, error) {
	if err != nil {
		return nil, err
	}
	return noContentReply(), nil
}
