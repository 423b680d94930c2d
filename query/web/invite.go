package web

import (
	"net/http"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
)

func (s *Server) invitePage(w http.ResponseWriter, v *pageRequest) error {
	if _, found := s.o.Accounts.InvitationOf(v.r.URL.Query().Get("token")); found && s.moveOneTimeValue(w, v, invitePath, inviteCookie) {
		return nil
	}
	if v.r.URL.Query().Has("token") {
		return auth.ErrInvitation
	}
	return s.showInvitation(w, v, form{}, s.oneTimeValue(v.r, inviteCookie), 0)
}

func (s *Server) showInvitation(w http.ResponseWriter, v *pageRequest, f form, value string, status int) error {
	i, found := s.o.Accounts.InvitationOf(value)
	if !found {
		return auth.ErrInvitation
	}
	email := input{Name: "email", Label: "Email address", Type: "email", Complete: "username", Required: true, Max: 254}
	if i.Email != "" {
		email.Value, email.ReadOnly, email.Hint = i.Email, true, "The invitation is for this address."
	}
	return s.renderPage(w, v, view{template: "invite", title: "Join", narrow: true, status: status, form: f, data: struct {
		Value                 string
		Owner                 bool
		Until                 string
		Providers             []button
		Name, Email, Password input
	}{
		value, i.Role == account.RoleOwner, formatMoment(i.ExpiresAt), s.providerButtons(),
		f.newInput(input{Name: "name", Label: "Name", Complete: "name", Max: 200}), f.newInput(email), f.newInput(passwordField),
	}})
}

func (s *Server) acceptInvitation(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	in, err := s.o.Accounts.Accept(v.r.Context(), s.o.Accounts.Origin(v.r), newcomerOf(f))
	if err != nil {
		f, status := s.formWithError(w, v, f, err, nil)
		return s.showInvitation(w, v, f, f.Get("token"), status)
	}
	s.setOneTimeValue(w, inviteCookie, "")
	s.enterSession(w, v, in, "/?done=joined")
	return nil
}
