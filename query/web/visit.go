package web

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// pageRequest is one request and its sender.
type pageRequest struct {
	r         *http.Request
	principal *auth.Principal
	user      *account.User // nil if not signed in
	access    access        // of the route
}

// isOwner reports whether the visitor administers the server.
func (v *pageRequest) isOwner() bool { return v.user != nil && v.principal.Owner() }

// handleRoute returns the handler of a route: it authenticates the visitor, and redirects
// visitors who must sign in to the sign-in page.
func (s *Server) handleRoute(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		v := &pageRequest{r: r, access: rt.access}
		err := s.o.Ready()
		if err == nil {
			s.identifyUser(w, v)
			err = checkAccess(v)
		}
		if err == nil {
			err = rt.page(w, v)
		}
		switch {
		case errors.Is(err, errSignInFirst):
			seeOther(w, v, signInFirst(r))
		case err != nil:
			if errors.Is(err, errOwnersOnly) {
				s.recordRefusal(w, v, audit.RequestDenied, http.StatusForbidden, "route", rt.method+" "+rt.path)
			}
			s.showError(w, v, err)
		}
	})
}

// pagePolicy is the Content-Security-Policy of pages: one style sheet, one script and
// images, all of them ours and none of them inline.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// setHeaders replaces the headers of API responses. The referrer is sent only to this
// server, since addresses of invitations are secret; without any, browsers would not send
// a form's origin.
func setHeaders(h http.Header) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "no-store")
}

// identifyUser authenticates the visitor. It ignores a session that is no longer valid,
// and deletes its cookie in the browser.
func (s *Server) identifyUser(w http.ResponseWriter, v *pageRequest) {
	r := v.r
	if !auth.HasCookie(r) {
		return
	}
	p, err := s.o.Accounts.Authenticate(r)
	if err == nil && p.Actor.Kind == account.ActorUser {
		v.user, _ = s.o.Accounts.Me(p)
	}
	if v.user == nil {
		http.SetCookie(w, s.o.Accounts.NoCookie())
		return
	}
	v.principal, v.r = p, r.WithContext(auth.With(r.Context(), p))
	if r.Method == http.MethodGet {
		s.rotateSession(w, v)
	}
}

// rotateSession gives the browser a new value of its session when one is due. An error is
// harmless.
func (s *Server) rotateSession(w http.ResponseWriter, v *pageRequest) {
	in, err := s.o.Accounts.Rotate(v.r.Context(), v.principal)
	if err != nil {
		s.o.Logger.WarnContext(v.r.Context(), "session not rotated", "error", err)
		return
	}
	if in != nil {
		http.SetCookie(w, s.o.Accounts.Cookie(in))
	}
}

var (
	errSignInFirst = errors.New("sign in first")
	errOwnersOnly  = errors.New("this page is for owners")
	errNoPage      = errors.New("there is no such page")
	errMethod      = errors.New("the page has no such form")
)

func checkAccess(v *pageRequest) error {
	switch {
	case v.access == accessOpen:
		return nil
	case v.user == nil:
		return errSignInFirst
	case v.access == accessOwner && !v.isOwner():
		return errOwnersOnly
	}
	return nil
}

// signInFirst returns the address of the sign-in page, which leads back to r, or for a
// form to the form's page.
func signInFirst(r *http.Request) string {
	back := r.URL.RequestURI()
	if r.Method != http.MethodGet {
		back = "/settings"
	}
	return "/sign-in?return=" + url.QueryEscape(returnPath(back))
}

// enterSession gives the browser a session that has just begun and redirects it.
func (s *Server) enterSession(w http.ResponseWriter, v *pageRequest, in *auth.SignedIn, path string) {
	http.SetCookie(w, s.o.Accounts.Cookie(in))
	seeOther(w, v, path)
}
