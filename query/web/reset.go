package web

import (
	"net/http"
	"net/url"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
)

// createReset responds with the page that shows the link for a lost password, as
// createInvitation does.
func (s *Server) createReset(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	value, err := s.o.Accounts.ResetValue(v.r.Context(), v.principal, account.UserID(f.Get("user")))
	if err != nil {
		return err
	}
	user, found := s.o.Accounts.UserOfReset(value)
	if !found {
		return auth.ErrNotActive
	}
	return s.showMembers(w, v, form{}, shownLinks{reset: s.o.PublicURL + resetPath + "?token=" + url.QueryEscape(value), resetFor: user.Email}, 0)
}

// resetPage is the target of the link for a lost password.
func (s *Server) resetPage(w http.ResponseWriter, v *pageRequest) error {
	if _, valid := s.o.Accounts.UserOfReset(v.r.URL.Query().Get("token")); valid && s.moveOneTimeValue(w, v, resetPath, resetCookie) {
		return nil
	}
	if v.r.URL.Query().Has("token") {
		return auth.ErrReset
	}
	return s.showReset(w, v, form{}, s.oneTimeValue(v.r, resetCookie), 0)
}

func (s *Server) showReset(w http.ResponseWriter, v *pageRequest, f form, value string, status int) error {
	user, valid := s.o.Accounts.UserOfReset(value)
	if !valid {
		return auth.ErrReset
	}
	return s.renderPage(w, v, view{template: "reset", title: "New password", narrow: true, status: status, form: f, data: struct {
		Value, Email string
		Password     input
	}{value, user.Email, f.newInput(passwordField)}})
}

func (s *Server) resetPassword(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	in, err := s.o.Accounts.ResetPassword(v.r.Context(), s.o.Accounts.Origin(v.r), f.Get("token"), f.Secret("password"))
	if err != nil {
		f, status := s.formWithError(w, v, f, err, nil)
		return s.showReset(w, v, f, f.Get("token"), status)
	}
	s.setOneTimeValue(w, resetCookie, "")
	s.enterSession(w, v, in, "/?done=password-reset")
	return nil
}
