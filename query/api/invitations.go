package api

import (
	"net/http"
	"net/url"
	"time"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// newInvitation omits Value and URL, which are all that is needed to accept an
// invitation: only the response that creates the invitation contains them.
func newInvitation(i *account.Invitation) wire.Invitation {
	return wire.Invitation{ID: string(i.ID), Email: i.Email, Role: wire.Role(i.Role), CreatedAt: wire.At(i.CreatedAt), ExpiresAt: wire.At(i.ExpiresAt)}
}

func (s *Server) createInvitation(a *auth.Service, r *http.Request) (*reply, error) {
	var body struct {
		Email     string       `json:"email"`
		Role      account.Role `json:"role"`
		ExpiresAt *time.Time   `json:"expiresAt"`
	}
	if err := s.decodeBody(r, &body); err != nil {
		return nil, err
	}
	wanted := auth.Invitation{Email: body.Email, Role: body.Role}
	if body.ExpiresAt != nil {
		// A time in the past must not become the default.
		wanted.ExpiresIn = max(body.ExpiresAt.Sub(s.o.Now()), 1)
	}
	made, value, err := a.Invite(r.Context(), auth.From(r.Context()), wanted)
	if err != nil {
		return nil, err
	}
	out := newInvitation(made)
	out.Value, out.URL = value, s.o.PublicURL+invitationPath+"?"+url.Values{"token": {value}}.Encode()
	return createdReply(out), nil
}

// invitationPath is the page on which people accept an invitation.
const invitationPath = "/invite"

func (s *Server) listInvitations(a *auth.Service, r *http.Request) (*reply, error) {
	invitations, err := a.Invitations(auth.From(r.Context()))
	if err != nil {
		return nil, err
	}
	out := make([]wire.Invitation, 0, len(invitations))
	for _, i := range invitations {
		out = append(out, newInvitation(i))
	}
	return okReply(out), nil
}

func (s *Server) revokeInvitation(a *auth.Service, r *http.Request) (*reply, error) {
	return noContentOrError(a.RevokeInvitation(r.Context(), auth.From(r.Context()), account.InvitationID(mux.Vars(r)["invitationId"])))
}

func (s *Server) acceptInvitation(a *auth.Service, r *http.Request) (*reply, error) {
	var body wire.NewcomerRequest
	if err := s.decodeBody(r, &body); err != nil {
		return nil, err
	}
	in, err := a.Accept(r.Context(), auth.From(r.Context()).Actor, newcomerOf(&body))
	return signedInReply(a, http.StatusCreated, in, err)
}
