package api

import (
	"net/http"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// tokenResponse is a scoped access token. Its value is in this answer and in no
// other.
type tokenResponse struct {
	ID            account.TokenID         `json:"id"`
	Token         string                  `json:"token"`
	CreatedAt     jsonTime                `json:"createdAt"`
	ExpiresAt     jsonTime                `json:"expiresAt"`
	RepositoryIDs []code.RepositoryNumber `json:"repoIds"`
}

func (s *Server) mintToken(a *auth.Service, r *http.Request) (*reply, error) {
	var body struct {
		RepositoryIDs []float64 `json:"repoIds"`
	}
	if err := s.decodeBody(r, &body); err != nil {
		return nil, err
	}
	ids, err := s.repositoriesWith("repoIds", body.RepositoryIDs)
	if err != nil {
		return nil, err
	}
	token, value, err := a.MintToken(r.Context(), auth.From(r.Context()), ids)
	if err != nil {
		return nil, err
	}
	return createdReply(tokenResponse{token.ID, value, jsonTime(token.CreatedAt), jsonTime(token.ExpiresAt), s.numbersOf(token.Repositories)}), nil
}

func (s *Server) revokeToken(a *auth.Service, r *http.Request) (*reply, error) {
	return noContentOrError(a.RevokeToken(r.Context(), auth.From(r.Context()), account.TokenID(mux.Vars(r)["id"])))
}
