package web

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/auth/oidc"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// errand is what a person does at a provider; the flow carries it there and back.
type errand struct {
	Return     string `json:"r,omitempty"`
	Invitation string `json:"i,omitempty"`
}

// depart sends the browser to a provider. Another site that leads here gets the
// sign-in page instead: whether to sign in is for the person to say.
func (s *Server) depart(w http.ResponseWriter, v *visit) error {
	query := v.r.URL.Query()
	e := errand{Return: returnPath(query.Get("return")), Invitation: query.Get("invitation")}
	if from := v.r.Header.Get("Sec-Fetch-Site"); from == "cross-site" {
		return s.showSignIn(w, v, form{}, e.Return, 0)
	}
	carried, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if len(e.Invitation) > maxReturnBytes {
		return auth.ErrInvitation
	}
	d, err := s.o.Providers.Depart(v.r.PathValue("provider"), string(carried))
	if err != nil {
		return s.providerFailed(w, v, err)
	}
	http.SetCookie(w, d.Cookie)
	http.Redirect(w, v.r, d.URL, http.StatusSeeOther)
	return nil
}

// arrive takes the person that a provider has sent back.
func (s *Server) arrive(w http.ResponseWriter, v *visit) error {
	http.SetCookie(w, s.o.Providers.EndCookie())
	arrival, err := s.o.Providers.Arrive(v.r.Context(), v.r.PathValue("provider"), v.r)
	if err != nil {
		return s.providerFailed(w, v, err)
	}
	var e errand
	if err := json.Unmarshal([]byte(arrival.Carried), &e); err != nil {
		return err
	}
	in, err := s.o.Accounts.SignInIdentity(v.r.Context(), s.o.Accounts.Origin(v.r), auth.Identified{
		Identity: arrival.Identity, Email: arrival.Email, EmailVerified: arrival.Email != "", Name: arrival.Name, Invitation: e.Invitation,
	})
	switch {
	case errors.Is(err, auth.ErrPending):
		seeOther(w, v, "/welcome")
		return nil
	case err != nil:
		return err
	}
	s.enter(w, v, in, returnPath(e.Return))
	return nil
}

// providerFailures are what can be between a browser and a provider, and its name
// in metrics and the audit log.
var providerFailures = []struct {
	err    error
	reason string
}{
	{oidc.ErrUnavailable, "unavailable"}, {oidc.ErrFlow, "flow"}, {oidc.ErrDenied, "denied"},
	{oidc.ErrToken, "token"}, {oidc.ErrEmail, "email"}, {oidc.ErrDomain, "domain"},
}

// providerFailed shows the sign-in page with what is between it and the provider.
func (s *Server) providerFailed(w http.ResponseWriter, v *visit, err error) error {
	for _, f := range providerFailures {
		if errors.Is(err, f.err) {
			s.noteFailure(w, v, f.reason)
			told := s.told(w, v, err)
			var shown form
			shown.wrong("", told.text)
			return s.showSignIn(w, v, shown, "/", told.status)
		}
	}
	return err
}

// noteFailure counts a failure and has it written down. That it is not taken does
// not make the answer another.
func (s *Server) noteFailure(w http.ResponseWriter, v *visit, reason string) {
	provider := v.r.PathValue("provider")
	s.metrics.providerFailures.WithLabelValues(provider, reason).Inc()
	if s.o.Audit == nil {
		return
	}
	rec := audit.Record{
		At: s.o.Now().UTC(), Action: audit.SignInFailed, Actor: s.o.Accounts.Origin(v.r), TargetType: audit.TargetUser,
		RequestID: w.Header().Get("X-Request-Id"), Metadata: map[string]string{"method": "oidc", "provider": provider, "reason": reason},
	}
	if err := s.o.Audit.Note(v.r.Context(), rec); err != nil {
		s.o.Logger.WarnContext(v.r.Context(), "a failed sign-in is not in the audit log", "error", err)
	}
}
