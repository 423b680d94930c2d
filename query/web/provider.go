package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/auth/oidc"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// providerRequest is the purpose of a visit to a provider; the flow carries it there and
// back.
type providerRequest struct {
	Return     string `json:"r,omitempty"`
	Invitation string `json:"i,omitempty"`
	// Link is the user to be linked to the provider.
	Link account.UserID `json:"l,omitempty"`
}

// departToProvider redirects the browser to a provider. A request from another site gets
// the sign-in page instead: the person must choose to sign in.
func (s *Server) departToProvider(w http.ResponseWriter, v *pageRequest) error {
	query := v.r.URL.Query()
	e := providerRequest{Return: returnPath(query.Get("return"))}
	if query.Has("invited") {
		e.Invitation = s.oneTimeValue(v.r, inviteCookie)
	}
	if from := v.r.Header.Get("Sec-Fetch-Site"); from == "cross-site" {
		return s.showSignIn(w, v, form{}, e.Return, 0)
	}
	if query.Has("invited") && e.Invitation == "" {
		return auth.ErrInvitation // the link must be opened again
	}
	target, err := s.startFlow(w, v.r.PathValue("provider"), e)
	if err != nil {
		return s.showProviderError(w, v, err)
	}
	http.Redirect(w, v.r, target, http.StatusSeeOther)
	return nil
}

// startFlow sets the cookie of a flow, and returns the address of the provider.
func (s *Server) startFlow(w http.ResponseWriter, provider string, e providerRequest) (string, error) {
	carried, err := json.Marshal(e)
	if err != nil {
		return "", err
	}
	d, err := s.o.Providers.Depart(provider, string(carried))
	if err != nil {
		return "", err
	}
	http.SetCookie(w, d.Cookie)
	return d.URL, nil
}

// connectProvider begins to link an identity of a provider to the user. It responds with
// a page that contains a link, and not with a redirect: browsers check the target of a
// form's redirect against form-action, which allows only this site.
func (s *Server) connectProvider(w http.ResponseWriter, v *pageRequest) error {
	if _, err := s.readForm(w, v); err != nil {
		return err
	}
	name := v.r.PathValue("provider")
	target, err := s.startFlow(w, name, providerRequest{Link: v.user.ID})
	if err != nil {
		return err
	}
	return s.renderPage(w, v, view{template: "connect", title: "Connect", section: "profile", data: struct{ Title, URL string }{s.titleOf(name), target}})
}

func (s *Server) titleOf(provider string) string {
	for _, p := range s.o.Providers.Providers() {
		if p.Name == provider {
			return p.Title
		}
	}
	return provider
}

// finishConnect links the identity. The flow names the user who began it, who must still
// be signed in.
func (s *Server) finishConnect(w http.ResponseWriter, v *pageRequest, user account.UserID, arrival *oidc.Arrival) error {
	if v.user == nil || v.user.ID != user {
		return fmt.Errorf("%w: another user is signed in", oidc.ErrFlow)
	}
	if err := s.o.Accounts.LinkIdentity(v.r.Context(), v.principal, arrival.Identity, arrival.HostUser); err != nil {
		return err
	}
	return redirectDone(w, v, "/settings/profile", "connected")
}

// finishFlow handles a person that a provider has redirected back.
func (s *Server) finishFlow(w http.ResponseWriter, v *pageRequest) error {
	http.SetCookie(w, s.o.Providers.EndCookie())
	arrival, err := s.o.Providers.Arrive(v.r.Context(), v.r.PathValue("provider"), v.r)
	if err != nil {
		return s.showProviderError(w, v, err)
	}
	var e providerRequest
	if err := json.Unmarshal([]byte(arrival.Carried), &e); err != nil {
		return err
	}
	if e.Link != "" {
		return s.finishConnect(w, v, e.Link, arrival)
	}
	in, err := s.o.Accounts.SignInIdentity(v.r.Context(), s.o.Accounts.Origin(v.r), auth.Identified{
		Identity: arrival.Identity, HostUser: arrival.HostUser, Email: arrival.Email, EmailVerified: arrival.Email != "", Name: arrival.Name, Invitation: e.Invitation,
	})
	switch {
	case errors.Is(err, auth.ErrPending):
		seeOther(w, v, "/welcome")
		return nil
	case err != nil:
		return err
	}
	if e.Invitation != "" {
		s.setOneTimeValue(w, inviteCookie, "")
	}
	s.enterSession(w, v, in, returnPath(e.Return))
	return nil
}

// providerFailures are the errors of a sign-in with a provider, with their names in
// metrics and the audit log.
var providerFailures = []struct {
	err    error
	reason string
}{
	{oidc.ErrUnavailable, "unavailable"}, {oidc.ErrFlow, "flow"}, {oidc.ErrDenied, "denied"},
	{oidc.ErrToken, "token"}, {oidc.ErrEmail, "email"}, {oidc.ErrDomain, "domain"},
}

// showProviderError shows the sign-in page with the error of the provider sign-in.
func (s *Server) showProviderError(w http.ResponseWriter, v *pageRequest, err error) error {
	for _, f := range providerFailures {
		if errors.Is(err, f.err) {
			provider, explained := v.r.PathValue("provider"), s.explainError(w, v, err)
			s.metrics.providerFailures.WithLabelValues(provider, f.reason).Inc()
			s.recordRefusal(w, v, audit.SignInFailed, explained.status, "method", "oidc", "provider", provider, "reason", f.reason)
			var shown form
			shown.addError("", explained.text)
			return s.showSignIn(w, v, shown, "/", explained.status)
		}
	}
	return err
}
