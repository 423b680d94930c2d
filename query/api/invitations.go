package api

import (
	"net/http"
	"net/url"
	"time"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
)

// invitationObject is an invitation. Value and URL, all that is needed to accept
// it, are in the answer that made it and in no other.
type invitationObject struct {
	ID        account.InvitationID `json:"id"`
	Value     string               `json:"value,omitempty"`
	URL       string               `json:"url,omitempty"`
	Email     string               `json:"email,omitempty"`
	Role      account.Role         `json:"role"`
	CreatedAt jsonTime             `json:"createdAt"`
	ExpiresAt jsonTime             `json:"expiresAt"`
}

func invitationOf(i *account.Invitation) invitationObject {
	return invitationObject{ID: i.ID, Email: i.Email, Role: i.Role, CreatedAt: jsonTime(i.CreatedAt), ExpiresAt: jsonTime(i.ExpiresAt)}
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
		// What is past is no default.
		wanted.ExpiresIn = max(body.ExpiresAt.Sub(s.o.Now()), 1)
	}
	made, value, err := a.Invite(r.Context(), auth.From(r.Context()), wanted)
	if err != nil {
		return nil, err
	}
	out := invitationOf(made)
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
	out := make([]invitationObject, 0, len(invitations))
	for _, i := range invitations {
		out = append(out, invitationOf(i))
	}
	return okReply(out), nil
}

func (s *Server) revokeInvitation(a *auth.Service, r *http.Request) (*reply, error) {
	return noContentOrError(a.RevokeInvitation(r.Context(), auth.From(r.Context()), account.InvitationID(mux.Vars(r)["invitationId"])))
}

func (s *Server) acceptInvitation(a *auth.Service, r *http.Request) (*reply, error) {
	var body newcomerRequest
	if err := s.decodeBody(r, &body); err != nil {
		return nil, err
	}
	in, err := a.Accept(r.Context(), auth.From(r.Context()).Actor, body.toNewcomer())
	return signedInReply(a, http.StatusCreated, in, err)
}
