package web

import (
	"errors"
	"net/http"

	"github.com/quarrysearch/quarry/query/auth"
)

// setupPage is the target of the one-time link that the server prints at its first start.
func (s *Server) setupPage(w http.ResponseWriter, v *pageRequest) error {
	if s.o.Accounts.SetupValue() == "" {
		return s.renderPage(w, v, view{template: "setup", title: "Set up", narrow: true, status: http.StatusGone})
	}
	if s.moveOneTimeValue(w, v, setupPath, setupCookie) {
		return nil
	}
	return s.showSetup(w, v, form{}, 0)
}

func (s *Server) showSetup(w http.ResponseWriter, v *pageRequest, f form, status int) error {
	token := s.oneTimeValue(v.r, setupCookie)
	if f.values != nil {
		token = f.Get("token")
	}
	return s.renderPage(w, v, view{template: "setup", title: "Set up", narrow: true, status: status, form: f, data: struct {
		Link                  string
		Name, Email, Password input
	}{
		token,
		f.newInput(input{Name: "name", Label: "Name", Complete: "name", Max: 200}),
		f.newInput(input{Name: "email", Label: "Email address", Type: "email", Complete: "username", Required: true, Max: 254}),
		f.newInput(passwordField),
	}})
}

var passwordField = input{
	Name: "password", Label: "Password", Type: "password", Complete: "new-password", Required: true, Max: 1024,
	Hint: "At least 8 characters. A few random words work well.",
}

func (s *Server) setUp(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	if s.o.Accounts.SetupValue() == "" {
		return s.renderPage(w, v, view{template: "setup", title: "Set up", narrow: true, status: http.StatusGone})
	}
	in, err := s.o.Accounts.Setup(v.r.Context(), s.o.Accounts.Origin(v.r), newcomerOf(f))
	if errors.Is(err, auth.ErrUnauthenticated) {
		f.addError("", "This is not the latest link that the server printed. Check its output: the link changes at every start.")
		return s.showSetup(w, v, f, http.StatusForbidden)
	}
	if err != nil {
		f, status := s.formWithError(w, v, f, err, nil)
		return s.showSetup(w, v, f, status)
	}
	s.setOneTimeValue(w, setupCookie, "")
	s.enterSession(w, v, in, "/?done=set-up")
	return nil
}

// newcomerOf reads the form of a person who wants to become a user.
func newcomerOf(f form) auth.Newcomer {
	return auth.Newcomer{Value: f.Get("token"), Email: f.Get("email"), Name: f.Get("name"), Password: f.Secret("password")}
}
