package api

import (
	"net/http"
	"time"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// newKey omits the value of a key: only the response that creates the key contains it.
func (s *Server) newKey(k *account.Key) wire.Key {
	return wire.Key{
		ID: string(k.ID), UserID: string(k.User), Name: k.Name, Prefix: k.Prefix, Scopes: newScopes(k.Scopes), RepoIds: s.numbersOf(k.Repositories),
		CreatedAt: wire.At(k.CreatedAt), ExpiresAt: wire.At(k.ExpiresAt), LastUsedAt: wire.At(k.LastUsedAt),
	}
}

func (s *Server) createKey(a *auth.Service, r *http.Request) (*reply, error) {
	var body struct {
		UserID        account.UserID  `json:"userId"`
		Name          string          `json:"name"`
		Scopes        []account.Scope `json:"scopes"`
		RepositoryIDs []float64       `json:"repoIds"`
		ExpiresAt     *time.Time      `json:"expiresAt"`
	}
	if err := s.decodeBody(r, &body); err != nil {
		return nil, err
	}
	ids, err := s.repositoriesWith("repoIds", body.RepositoryIDs)
	if err != nil {
		return nil, err
	}
	wanted := auth.NewKey{User: body.UserID, Name: body.Name, Scopes: body.Scopes, Repositories: ids}
	if body.ExpiresAt != nil {
		wanted.ExpiresAt = *body.ExpiresAt
	}
	key, value, err := a.CreateKey(r.Context(), auth.From(r.Context()), wanted)
	if err != nil {
		return nil, err
	}
	out := s.newKey(key)
	out.Key = value
	return createdReply(out), nil
}

func (s *Server) listKeys(a *auth.Service, r *http.Request) (*reply, error) {
	list := a.Keys
	if queryParams(r).boolParam("all") {
		list = a.AllKeys
	}
	keys, err := list(auth.From(r.Context()))
	if err != nil {
		return nil, err
	}
	out := make([]wire.Key, 0, len(keys))
	for _, k := range keys {
		out = append(out, s.newKey(k))
	}
	return okReply(out), nil
}

func (s *Server) deleteKey(a *auth.Service, r *http.Request) (*reply, error) {
	return noContentOrError(a.DeleteKey(r.Context(), auth.From(r.Context()), mux.Vars(r)["keyId"]))
}
