package api

import (
	"net/http"
	"time"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// keyObject is an API key. Key, its value, is in the answer that made it and in no
// other.
type keyObject struct {
	ID     account.KeyID   `json:"id"`
	UserID account.UserID  `json:"userId"`
	Name   string          `json:"name"`
	Prefix string          `json:"prefix"`
	Key    string          `json:"key,omitempty"`
	Scopes []account.Scope `json:"scopes"`
	// RepositoryIDs is absent where the key is not restricted.
	RepositoryIDs []code.RepositoryNumber `json:"repoIds,omitzero"`
	CreatedAt     jsonTime                `json:"createdAt"`
	ExpiresAt     *jsonTime               `json:"expiresAt,omitempty"`
	LastUsedAt    *jsonTime               `json:"lastUsedAt,omitempty"`
}

func (s *Server) keyOf(k *account.Key) keyObject {
	return keyObject{
		ID: k.ID, UserID: k.User, Name: k.Name, Prefix: k.Prefix, Scopes: k.Scopes, RepositoryIDs: s.numbersOf(k.Repositories),
		CreatedAt: jsonTime(k.CreatedAt), ExpiresAt: optionalTime(k.ExpiresAt), LastUsedAt: optionalTime(k.LastUsedAt),
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
	out := s.keyOf(key)
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
	out := make([]keyObject, 0, len(keys))
	for _, k := range keys {
		out = append(out, s.keyOf(k))
	}
	return okReply(out), nil
}

func (s *Server) deleteKey(a *auth.Service, r *http.Request) (*reply, error) {
	return noContentOrError(a.DeleteKey(r.Context(), auth.From(r.Context()), mux.Vars(r)["keyId"]))
}
