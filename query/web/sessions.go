package web

import (
	"net/http"
	"strings"

	"github.com/quarrysearch/quarry/schemas/account"
)

// sessionRow is a row of the list of sessions.
type sessionRow struct {
	*account.Session
	This bool
}

// agents are words of user agents and their meaning, the more specific ones first: most
// browsers claim to be other browsers as well.
var (
	browsers = [][2]string{{"Edg", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"Chrom", "Chrome"}, {"Safari/", "Safari"}, {"curl/", "curl"}}
	systems  = [][2]string{{"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Windows", "Windows"}, {"Mac OS X", "macOS"}, {"CrOS", "ChromeOS"}, {"Linux", "Linux"}}
)

// Browser describes the user agent in a few words; templates call it.
func (r sessionRow) Browser() string {
	if r.Agent == "" {
		return "unknown"
	}
	browser, system := wordOf(r.Agent, browsers), wordOf(r.Agent, systems)
	switch {
	case browser == "":
		return r.Agent
	case system == "":
		return browser
	}
	return browser + " on " + system
}

func wordOf(agent string, words [][2]string) string {
	for _, w := range words {
		if strings.Contains(agent, w[0]) {
			return w[1]
		}
	}
	return ""
}

func (s *Server) sessionsPage(w http.ResponseWriter, v *pageRequest) error {
	sessions, err := s.o.Accounts.Sessions(v.principal)
	if err != nil {
		return err
	}
	rows := make([]sessionRow, len(sessions))
	for i, session := range sessions {
		rows[i] = sessionRow{session, string(session.ID) == v.principal.Actor.Credential}
	}
	return s.renderPage(w, v, view{template: "sessions", title: "Sessions", section: "sessions", data: rows})
}

// endSession ends the session in the form, or all sessions.
func (s *Server) endSession(w http.ResponseWriter, v *pageRequest) error {
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
		return redirectDone(w, v, "/sign-in", "sessions-ended")
	case string(id) == v.principal.Actor.Credential:
		return s.signOutHere(w, v)
	}
	if err := s.o.Accounts.EndSession(v.r.Context(), v.principal, id); err != nil {
		return err
	}
	return redirectDone(w, v, "/settings/sessions", "session-ended")
}
