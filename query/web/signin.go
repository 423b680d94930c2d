package web

import (
	"errors"
	"net/http"

	"github.com/quarrysearch/quarry/query/auth"
)

func (s *Server) signInPage(w http.ResponseWriter, v *pageRequest) error {
	back := returnPath(v.r.URL.Query().Get("return"))
	if v.user != nil {
		seeOther(w, v, back)
		return nil
	}
	return s.showSignIn(w, v, form{}, back, 0)
}

// button is a link to a provider.
type button struct{ Name, Title string }

func (s *Server) providerButtons() []button {
	if s.o.Providers == nil {
		return nil
	}
	var out []button
	for _, p := range s.o.Providers.Providers() {
		out = append(out, button{p.Name, p.Title})
	}
	return out
}

func (s *Server) showSignIn(w http.ResponseWriter, v *pageRequest, f form, back string, status int) error {
	return s.renderPage(w, v, view{template: "signin", title: "Sign in", narrow: true, status: status, form: f, data: struct {
		Return          string
		Unowned         bool
		Providers       []button
		Email, Password input
	}{
		back, s.o.Accounts.SetupValue() != "", s.providerButtons(),
		f.newInput(input{Name: "email", Label: "Email address", Type: "email", Complete: "username", Required: true, Max: 254}),
		f.newInput(input{Name: "password", Label: "Password", Type: "password", Complete: "current-password", Required: true, Max: 1024}),
	}})
}

func (s *Server) signIn(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	back := returnPath(f.Get("return"))
	in, err := s.o.Accounts.SignIn(v.r.Context(), s.o.Accounts.Origin(v.r), f.Get("email"), f.Secret("password"))
	switch {
	case err == nil:
		s.enterSession(w, v, in, back)
		return nil
	case errors.Is(err, auth.ErrPending):
		seeOther(w, v, "/welcome")
		return nil
	case errors.Is(err, auth.ErrUnauthenticated):
		f.addError("", "The email address or the password is wrong, or the account may not sign in.")
		return s.showSignIn(w, v, f, back, http.StatusForbidden)
	}
	f, status := s.formWithError(w, v, f, err, nil)
	return s.showSignIn(w, v, f, back, status)
}

func (s *Server) signOut(w http.ResponseWriter, v *pageRequest) error {
	if _, err := s.readForm(w, v); err != nil {
		return err
	}
	return s.signOutHere(w, v)
}

// signOutHere ends the session of this browser.
func (s *Server) signOutHere(w http.ResponseWriter, v *pageRequest) error {
	if err := s.o.Accounts.SignOut(v.r.Context(), v.principal); err != nil && !errors.Is(err, auth.ErrSessionNotFound) {
		return err
	}
	http.SetCookie(w, s.o.Accounts.NoCookie())
	return redirectDone(w, v, "/sign-in", "signed-out")
}

// welcomePage is for users who wait for an owner's approval.
func (s *Server) welcomePage(w http.ResponseWriter, v *pageRequest) error {
	if v.user != nil {
		seeOther(w, v, "/")
		return nil
	}
	return s.renderPage(w, v, view{template: "welcome", title: "Almost there", narrow: true})
}
