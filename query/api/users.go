package api

import (
	"context"
	"net/http"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// maxUserIDBytes exceeds the length of any user ID.
const maxUserIDBytes = 256

// namedUser reads the query parameter userId.
func namedUser(r *http.Request) (account.UserID, error) {
	query := queryParams(r)
	id := query.textParam("userId", maxUserIDBytes)
	if query.err == nil && id == "" {
		return "", errMissingParam
	}
	return account.UserID(id), query.err
}

func (s *Server) showUser(a *auth.Service, r *http.Request) (*reply, error) {
	id, err := namedUser(r)
	if err != nil {
		return nil, err
	}
	front.ExchangeIn(r.Context()).SetAuditTarget(audit.TargetUser, string(id))
	user, err := a.User(auth.From(r.Context()), id)
	if err != nil {
		return nil, err
	}
	return okReply(newUser(user)), nil
}

func (s *Server) removeUser(a *auth.Service, r *http.Request) (*reply, error) {
	id, err := namedUser(r)
	if err != nil {
		return nil, err
	}
	if err := a.Remove(r.Context(), auth.From(r.Context()), id); err != nil {
		return nil, err
	}
	return okReply(wire.Removed{Success: true, Message: "User removed"}), nil
}

func (s *Server) listUsers(a *auth.Service, r *http.Request) (*reply, error) {
	users, err := a.Users(auth.From(r.Context()))
	if err != nil {
		return nil, err
	}
	out := make([]wire.User, 0, len(users))
	for _, u := range users {
		out = append(out, newUser(u))
	}
	return okReply(out), nil
}

// changeOfUser is an owner's change of the user in the path.
type changeOfUser func(ctx context.Context, p *auth.Principal, id account.UserID) (*account.User, error)

// changeUser applies a change and responds with the changed user.
func changeUser(r *http.Request, change changeOfUser) (*reply, error) {
	user, err := change(r.Context(), auth.From(r.Context()), account.UserID(mux.Vars(r)["userId"]))
	if err != nil {
		return nil, err
	}
	return okReply(newUser(user)), nil
}

func (s *Server) approveUser(a *auth.Service, r *http.Request) (*reply, error) {
	return changeUser(r, a.Approve)
}

func (s *Server) suspendUser(a *auth.Service, r *http.Request) (*reply, error) {
	return changeUser(r, a.Suspend)
}

func (s *Server) reinstateUser(a *auth.Service, r *http.Request) (*reply, error) {
	return changeUser(r, a.Reinstate)
}

func (s *Server) changeRole(a *auth.Service, r *http.Request) (*reply, error) {
	var body struct {
		Role account.Role `json:"role"`
	}
	if err := s.decodeBody(r, &body); err != nil {
		return nil, err
	}
	return changeUser(r, func(ctx context.Context, p *auth.Principal, id account.UserID) (*account.User, error) {
		return a.ChangeRole(ctx, p, id, body.Role)
	})
}
