package api

import (
	"net/http"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

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
	return createdReply(wire.ScopedAccessToken{
		ID: string(token.ID), Token: value, CreatedAt: wire.At(token.CreatedAt), ExpiresAt: wire.At(token.ExpiresAt), RepoIds: s.numbersOf(token.Repositories),
	}), nil
}

func (s *Server) revokeToken(a *auth.Service, r *http.Request) (*reply, error) {
	return noContentOrError(a.RevokeToken(r.Context(), auth.From(r.Context()), account.TokenID(mux.Vars(r)["id"])))
}
