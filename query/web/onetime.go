package web

import (
	"net/http"
	"regexp"
	"time"
)

// A link with a one-time value, such as an invitation, must not stay in the address bar
// or in the browser's history, where the next person at the browser could find it. Its
// page moves the value to a cookie and redirects to itself without the value.
const (
	setupPath, setupCookie   = "/setup", "quarry_setup"
	invitePath, inviteCookie = "/invite", "quarry_invitation"
	resetPath, resetCookie   = "/reset-password", "quarry_reset"
)

// oneTimeTTL bounds how long a browser keeps the value. The form on the page has the
// value, too, so it can be filled in later.
const oneTimeTTL = time.Hour

// oneTimePattern matches what a value may consist of.
var oneTimePattern = regexp.MustCompile(`^[0-9A-Za-z_]{1,128}$`)

// moveOneTimeValue moves the value of a link to a cookie and redirects to the path. It
// returns false if the address has no value.
func (s *Server) moveOneTimeValue(w http.ResponseWriter, v *pageRequest, path, cookie string) bool {
	query := v.r.URL.Query()
	if !query.Has("token") {
		return false
	}
	s.setOneTimeValue(w, cookie, query.Get("token"))
	seeOther(w, v, path)
	return true
}

// setOneTimeValue sets the cookie of a value; a value that cannot be one removes it.
func (s *Server) setOneTimeValue(w http.ResponseWriter, cookie, value string) {
	c := &http.Cookie{Name: s.public.CookieName(cookie), Path: s.public.CookiePath(), MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.public.IsSecure()}
	if oneTimePattern.MatchString(value) {
		c.Value, c.MaxAge = value, int(oneTimeTTL/time.Second)
	}
	http.SetCookie(w, c)
}

// oneTimeValue returns the value that moveOneTimeValue has stored, or an empty string.
func (s *Server) oneTimeValue(r *http.Request, cookie string) string {
	c, err := r.Cookie(s.public.CookieName(cookie))
	if err != nil || !oneTimePattern.MatchString(c.Value) {
		return ""
	}
	return c.Value
}
