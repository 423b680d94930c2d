package web

import (
	"net/http"
	"slices"

	"github.com/quarrysearch/quarry/schemas/account"
)

func (s *Server) profilePage(w http.ResponseWriter, v *pageRequest) error {
	return s.showProfile(w, v, form{}, 0)
}

func (s *Server) showProfile(w http.ResponseWriter, v *pageRequest, f form, status int) error {
	now := passwordField
	now.Label = "New password"
	return s.renderPage(w, v, view{template: "profile", title: "Profile", section: "profile", status: status, form: f, data: struct {
		Name, Old, Password input
		Providers           []connection
	}{
		f.newInput(input{Name: "name", Label: "Name", Value: v.user.Name, Complete: "name", Max: account.MaxNameBytes}),
		f.newInput(input{Name: "old", Label: "Current password", Type: "password", Complete: "current-password", Required: true, Max: account.MaxPasswordBytes}),
		f.newInput(now),
		s.providerConnections(v.user),
	}})
}

// connection is a provider, and whether the user can sign in with it.
type connection struct {
	Name, Title string
	There       bool
}

func (s *Server) providerConnections(user *account.User) []connection {
	if s.o.Providers == nil {
		return nil
	}
	var out []connection
	for _, p := range s.o.Providers.Providers() {
		there := slices.ContainsFunc(user.Identities, func(id account.Identity) bool { return id.Issuer == p.Issuer })
		out = append(out, connection{p.Name, p.Title, there})
	}
	return out
}

func (s *Server) renameUser(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	if _, err := s.o.Accounts.Rename(v.r.Context(), v.principal, f.Get("name")); err != nil {
		f, status := s.formWithError(w, v, f, err, nil)
		return s.showProfile(w, v, f, status)
	}
	return redirectDone(w, v, "/settings/profile", "renamed")
}

func (s *Server) changePassword(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	if err := s.o.Accounts.ChangePassword(v.r.Context(), v.principal, f.Secret("old"), f.Secret("password")); err != nil {
		f, status := s.formWithError(w, v, f, err, map[string]string{"oldPassword": "old"})
		return s.showProfile(w, v, f, status)
	}
	return redirectDone(w, v, "/settings/profile", "password")
}
