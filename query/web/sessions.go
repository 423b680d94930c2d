package web

import (
	"net/http"

	"github.com/quarrysearch/quarry/schemas/account"
)

// sessionRow is a session as the list shows it.
type sessionRow struct {
	*account.Session
	This bool
}

func (s *Server) sessionsPage(w http.ResponseWriter, v *visit) error {
	sessions, err := s.o.Accounts.Sessions(v.principal)
	if err != nil {
		return err
	}
	rows := make([]sessionRow, len(sessions))
	for i, session := range sessions {
		rows[i] = sessionRow{session, string(session.ID) == v.principal.Actor.Credential}
	}
	return s.show(w, v, view{template: "sessions", title: "Sessions", section: "sessions", data: rows})
}

// endSession ends the session that the form names, or all of them.
func (s *Server) endSession(w http.ResponseWriter, v *visit) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	id := account.SessionID(f.Get("session"))
	switch {
	case f.Get("all") != "":
		if err := s.o.Accounts.SignOutEverywhere(v.r.Context(), v.principal); err != nil {
			return err
		}
		http.SetCookie(w, s.o.Accounts.NoCookie())
		return done(w, v, "/sign-in", "sessions-ended")
	case string(id) == v.principal.Actor.Credential:
		return s.signOutHere(w, v)
	}
	if err := s.o.Accounts.EndSession(v.r.Context(), v.principal, id); err != nil {
		return err
	}
	return done(w, v, "/settings/sessions", "session-ended")
}
