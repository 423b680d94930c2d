package api

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// newcomerOf converts the body of POST /api/auth/setup. The body for accepting an
// invitation is the same, except that the address is optional.
func newcomerOf(in *wire.NewcomerRequest) auth.Newcomer {
	return auth.Newcomer{Value: in.Value, Email: in.Email, Name: in.Name, Password: in.Password}
}

// signedInReply returns the session in a cookie, and nowhere else.
func signedInReply(a *auth.Service, status int, in *auth.SignedIn, err error) (*reply, error) {
	if err != nil {
		return nil, err
	}
	return &reply{
		status: status, header: http.Header{"Set-Cookie": {a.Cookie(in).String()}},
		body: wire.SignedIn{User: newUser(in.User), ExpiresAt: wire.At(in.Session.ExpiresAt)},
	}, nil
}

// explainUnauthenticated explains a failed sign-in with the given words, which are the
// same for every cause.
func explainUnauthenticated(err error, words string) error {
	if errors.Is(err, auth.ErrUnauthenticated) {
		return fmt.Errorf("%w: %s", auth.ErrUnauthenticated, words)
	}
	return err
}

func (s *Server) setUp(a *auth.Service, r *http.Request) (*reply, error) {
	var body wire.NewcomerRequest
	if err := s.decodeBody(r, &body); err != nil {
		return nil, err
	}
	in, err := a.Setup(r.Context(), auth.From(r.Context()).Actor, newcomerOf(&body))
	return signedInReply(a, http.StatusCreated, in, explainUnauthenticated(err, "invalid or expired setup link"))
}

func (s *Server) signIn(a *auth.Service, r *http.Request) (*reply, error) {
	var body wire.SignInRequest
	if err := s.decodeBody(r, &body); err != nil {
		return nil, err
	}
	in, err := a.SignIn(r.Context(), auth.From(r.Context()).Actor, body.Email, body.Password)
	return signedInReply(a, http.StatusOK, in, explainUnauthenticated(err, "the email address or the password is wrong"))
}

// signOut ends the session of the request.
func (s *Server) signOut(a *auth.Service, r *http.Request) (*reply, error) {
	return signedOutReply(a, a.SignOut(r.Context(), auth.From(r.Context())))
}

// signedOutReply responds that the session has ended, and deletes it in the browser.
func signedOutReply(a *auth.Service, err error) (*reply, error) {
	p, err := noContentOrError(err)
	if err == nil {
		p.header = http.Header{"Set-Cookie": {a.NoCookie().String()}}
	}
	return p, err
}

// restrictionOf returns the numbers of the repositories that a credential is restricted
// to, in order; nil for an unrestricted credential.
func (s *Server) restrictionOf(p *auth.Principal) []code.RepositoryNumber {
	if p.Repositories == nil {
		return nil
	}
	return slices.Sorted(slices.Values(s.numbersOf(slices.AppendSeq([]code.RepositoryID{}, maps.Keys(p.Repositories)))))
}

func (s *Server) showMe(a *auth.Service, r *http.Request) (*reply, error) {
	p := auth.From(r.Context())
	user, err := a.Me(p)
	if err != nil {
		return nil, err
	}
	out := wire.Me{Kind: wire.MeKind(p.Actor.Kind), Role: wire.Role(p.Role), Scopes: newScopes(p.Scopes), RepoIds: s.restrictionOf(p)}
	if user != nil { // absent for the operator
		out.User = newUser(user)
	}
	return okReply(out), nil
}

// changeMe changes the caller's name, password or both. The password comes first, because
// that change may be refused.
func (s *Server) changeMe(a *auth.Service, r *http.Request) (*reply, error) {
	var body struct {
		Name        *string `json:"name"`
		OldPassword string  `json:"oldPassword"`
		Password    *string `json:"password"`
	}
	if err := s.decodeBody(r, &body); err != nil {
		return nil, err
	}
	p := auth.From(r.Context())
	if body.Password != nil {
		if err := a.ChangePassword(r.Context(), p, body.OldPassword, *body.Password); err != nil {
			return nil, err
		}
	}
	if body.Name != nil {
		if _, err := a.Rename(r.Context(), p, *body.Name); err != nil {
			return nil, err
		}
	}
	return s.showMe(a, r)
}

func (s *Server) listSessions(a *auth.Service, r *http.Request) (*reply, error) {
	p := auth.From(r.Context())
	sessions, err := a.Sessions(p)
	if err != nil {
		return nil, err
	}
	out := make([]wire.Session, 0, len(sessions))
	for _, session := range sessions {
		out = append(out, wire.Session{
			ID: string(session.ID), CreatedAt: wire.At(session.CreatedAt), ExpiresAt: wire.At(session.ExpiresAt),
			Address: session.Address, Client: session.Agent, Current: string(session.ID) == p.Actor.Credential,
		})
	}
	return okReply(out), nil
}

// endSessions signs the user out everywhere.
func (s *Server) endSessions(a *auth.Service, r *http.Request) (*reply, error) {
	return signedOutReply(a, a.SignOutEverywhere(r.Context(), auth.From(r.Context())))
}

func (s *Server) endSession(a *auth.Service, r *http.Request) (*reply, error) {
	return noContentOrError(a.EndSession(r.Context(), auth.From(r.Context()), account.SessionID(mux.Vars(r)["sessionId"])))
}
