package web

import (
	"net/http"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
)

func (s *Server) invitePage(w http.ResponseWriter, v *visit) error {
	return s.showInvitation(w, v, form{}, v.r.URL.Query().Get("token"), 0)
}

func (s *Server) showInvitation(w http.ResponseWriter, v *visit, f form, value string, status int) error {
	i, found := s.o.Accounts.InvitationOf(value)
	if !found {
		return auth.ErrInvitation
	}
	email := input{Name: "email", Label: "E-mail address", Type: "email", Complete: "username", Required: true, Max: 254}
	if i.Email != "" {
		email.Value, email.ReadOnly, email.Hint = i.Email, true, "The invitation is for this address."
	}
	return s.show(w, v, view{template: "invite", title: "Join", narrow: true, status: status, form: f, data: struct {
		Value                 string
		Owner                 bool
		Until                 string
		Providers             []button
		Name, Email, Password input
	}{
		value, i.Role == account.RoleOwner, moment(i.ExpiresAt), s.buttons(),
		f.field(input{Name: "name", Label: "Name", Complete: "name", Max: 200}), f.field(email), f.field(passwordField),
	}})
}

func (s *Server) accept(w http.ResponseWriter, v *visit) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	in, err := s.o.Accounts.Accept(v.r.Context(), s.o.Accounts.Origin(v.r), newcomer(f))
	if err != nil {
		f, status := s.again(w, v, f, err, newcomerFields)
		return s.showInvitation(w, v, f, f.Get("token"), status)
	}
	s.enter(w, v, in, "/settings/keys?done=joined")
	return nil
}
