package api

import (
	"net/http"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// savedSearchPath is the path prefix of links to saved searches.
const savedSearchPath = "/saved/"

// newSavedSearch converts q for p. It does not name the owner of a shared search, because
// members do not see each other's accounts.
func (s *Server) newSavedSearch(p *auth.Principal, q *account.SavedSearch) wire.SavedSearch {
	return wire.SavedSearch{
		ID: string(q.ID), Name: q.Name, Query: q.Query, IsRegexEnabled: q.Regexp, IsCaseSensitivityEnabled: q.CaseSensitive, Shared: q.Shared,
		Own: q.User == p.Actor.User, URL: s.o.PublicURL + savedSearchPath + string(q.ID), CreatedAt: wire.At(q.CreatedAt), UpdatedAt: wire.At(q.UpdatedAt),
	}
}

func (s *Server) listSavedSearches(a *auth.Service, r *http.Request) (*reply, error) {
	p := auth.From(r.Context())
	found, err := a.SavedSearches(p)
	if err != nil {
		return nil, err
	}
	out := make([]wire.SavedSearch, len(found))
	for i, q := range found {
		out[i] = s.newSavedSearch(p, q)
	}
	return okReply(out), nil
}

// readSavedSearch reads the body of a request that creates or changes a saved search.
func (s *Server) readSavedSearch(r *http.Request) (auth.SavedSearchEdit, error) {
	var body struct {
		Name          *string `json:"name"`
		Query         *string `json:"query"`
		Regexp        *bool   `json:"isRegexEnabled"`
		CaseSensitive *bool   `json:"isCaseSensitivityEnabled"`
		Shared        *bool   `json:"shared"`
	}
	err := s.decodeBody(r, &body)
	return auth.SavedSearchEdit{Name: body.Name, Query: body.Query, Regexp: body.Regexp, CaseSensitive: body.CaseSensitive, Shared: body.Shared}, err
}

func (s *Server) createSavedSearch(a *auth.Service, r *http.Request) (*reply, error) {
	edit, err := s.readSavedSearch(r)
	if err != nil {
		return nil, err
	}
	p := auth.From(r.Context())
	q, err := a.SaveSearch(r.Context(), p, edit)
	if err != nil {
		return nil, err
	}
	return createdReply(s.newSavedSearch(p, q)), nil
}

func (s *Server) changeSavedSearch(a *auth.Service, r *http.Request) (*reply, error) {
	edit, err := s.readSavedSearch(r)
	if err != nil {
		return nil, err
	}
	p := auth.From(r.Context())
	q, err := a.ChangeSavedSearch(r.Context(), p, account.SavedSearchID(mux.Vars(r)["savedSearchId"]), edit)
	if err != nil {
		return nil, err
	}
	return okReply(s.newSavedSearch(p, q)), nil
}

func (s *Server) deleteSavedSearch(a *auth.Service, r *http.Request) (*reply, error) {
	return noContentOrError(a.DeleteSavedSearch(r.Context(), auth.From(r.Context()), account.SavedSearchID(mux.Vars(r)["savedSearchId"])))
}
