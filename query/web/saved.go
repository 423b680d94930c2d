package web

import (
	"errors"
	"net/http"
	"slices"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
)

// savedPath is the list of saved searches. The link of a saved search is /saved/ID, which
// is short.
const savedPath = "/settings/saved"

// savedRow is a row of the list of saved searches.
type savedRow struct {
	*account.SavedSearch
	Own     bool
	Context facetLink // empty for one that is no search context
}

// savedPage lists the searches that the visitor saved and those that other users share.
func (s *Server) savedPage(w http.ResponseWriter, v *pageRequest) error {
	found, err := s.o.Accounts.SavedSearches(v.principal)
	if err != nil {
		return err
	}
	rows := make([]savedRow, len(found))
	for i, q := range found {
		rows[i] = savedRow{SavedSearch: q, Own: q.User == v.user.ID}
	}
	for _, saved := range s.o.Accounts.SavedContexts(v.principal) {
		i := slices.IndexFunc(found, func(q *account.SavedSearch) bool { return q.ID == saved.ID })
		if i >= 0 { // unless it was deleted or saved just now
			rows[i].Context = contextLink(saved.Name)
		}
	}
	return s.renderPage(w, v, view{template: "saved", title: s.texts.mustFormat("savedTitle"), section: "saved", data: rows})
}

// openSaved redirects to the results of a saved search, as the visitor may see them.
func (s *Server) openSaved(w http.ResponseWriter, v *pageRequest) error {
	q, err := s.o.Accounts.SavedSearch(v.principal, account.SavedSearchID(v.r.PathValue("id")))
	if err != nil {
		return err
	}
	p := plainParams()
	p.Regexp, p.Case = q.Regexp, q.CaseSensitive
	seeOther(w, v, p.URL(q.Query))
	return nil
}

// saveURL returns the address of the form that saves the search of p.
func (p searchParams) saveURL() string {
	plain := plainParams()
	plain.Regexp, plain.Case = p.Regexp, p.Case
	return savedPath + "/new?" + plain.URL(p.Query)[len(searchPath)+1:]
}

func (s *Server) newSavedPage(w http.ResponseWriter, v *pageRequest) error {
	p := readSearchParams(v.r)
	q := &account.SavedSearch{Query: p.Query, Regexp: p.Regexp, CaseSensitive: p.Case}
	return s.showSavedForm(w, v, q, form{}, 0)
}

func (s *Server) editSavedPage(w http.ResponseWriter, v *pageRequest) error {
	q, err := s.ownSavedSearch(v)
	if err != nil {
		return err
	}
	return s.showSavedForm(w, v, q, form{}, 0)
}

// ownSavedSearch returns the saved search of the address, if it is the visitor's.
func (s *Server) ownSavedSearch(v *pageRequest) (*account.SavedSearch, error) {
	q, err := s.o.Accounts.SavedSearch(v.principal, account.SavedSearchID(v.r.PathValue("id")))
	if err == nil && q.User != v.user.ID {
		err = auth.ErrSavedSearchNotFound
	}
	return q, err
}

// showSavedForm shows the form of a new search, which has no ID, or of an existing one.
func (s *Server) showSavedForm(w http.ResponseWriter, v *pageRequest, q *account.SavedSearch, f form, status int) error {
	title, shown := s.texts.mustFormat("savedEdit"), *q
	if q.ID == "" {
		title = s.texts.mustFormat("savedNew")
	}
	if f.values != nil {
		shown.Query, shown.Regexp, shown.CaseSensitive, shown.Shared = f.values.Get("query"), f.Has("re", "1"), f.Has("case", "1"), f.Has("shared", "1")
	}
	name := f.newInput(input{Name: "name", Label: s.texts.mustFormat("savedName"), Value: q.Name, Required: true, Max: account.MaxSavedNameBytes})
	return s.renderPage(w, v, view{template: "savedform", title: title, section: "saved", status: status, form: f, data: struct {
		*account.SavedSearch
		Field    input
		MaxQuery int
	}{&shown, name, account.MaxSavedQueryBytes}})
}

// readSavedEdit reads the form of a saved search.
func readSavedEdit(f form) auth.SavedSearchEdit {
	name, query := f.Get("name"), f.values.Get("query")
	regexp, caseSensitive, shared := f.Has("re", "1"), f.Has("case", "1"), f.Has("shared", "1")
	return auth.SavedSearchEdit{Name: &name, Query: &query, Regexp: &regexp, CaseSensitive: &caseSensitive, Shared: &shared}
}

func (s *Server) createSaved(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	_, err = s.o.Accounts.SaveSearch(v.r.Context(), v.principal, readSavedEdit(f))
	return s.finishSaved(w, v, &account.SavedSearch{}, f, err)
}

func (s *Server) changeSaved(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	q, err := s.ownSavedSearch(v)
	if err != nil {
		return err
	}
	_, err = s.o.Accounts.ChangeSavedSearch(v.r.Context(), v.principal, q.ID, readSavedEdit(f))
	return s.finishSaved(w, v, q, f, err)
}

// finishSaved redirects to the list, or shows the form again with the errors.
func (s *Server) finishSaved(w http.ResponseWriter, v *pageRequest, q *account.SavedSearch, f form, err error) error {
	if errors.Is(err, auth.ErrSavedSearchExists) {
		f.addError("name", s.texts.mustFormat("savedExists"))
		return s.showSavedForm(w, v, q, f, http.StatusConflict)
	}
	if err != nil {
		f, status := s.formWithError(w, v, f, err, nil)
		return s.showSavedForm(w, v, q, f, status)
	}
	return redirectDone(w, v, savedPath, "search-saved")
}

func (s *Server) deleteSaved(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	if err := s.o.Accounts.DeleteSavedSearch(v.r.Context(), v.principal, account.SavedSearchID(f.Get("search"))); err != nil {
		return err
	}
	return redirectDone(w, v, savedPath, "search-deleted")
}
