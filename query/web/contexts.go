package web

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/query/web/internal/codehtml"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/spelling"
)

// contextsPath lists search contexts: as a page, and by name for suggestions in the search box.
const contextsPath = searchPath + "/contexts"

// Bounds of lists of search contexts.
const (
	maxContextNames = 10      // suggested
	maxContexts     = 200     // on the page
	shownOfContext  = 20      // repositories of each
	maxMemberChecks = 200_000 // comparisons of repositories with contexts for the page
)

// contextsPage responds to a browser with the page, and to scripts, which send a name, with
// names.
func (s *Server) contextsPage(w http.ResponseWriter, v *pageRequest) error {
	if v.r.URL.Query().Has("name") || !strings.Contains(v.r.Header.Get("Accept"), "text/html") {
		return s.contextNames(w, v)
	}
	repositories, err := s.o.Search.SearchableRepositories(v.r.Context())
	if err != nil {
		return err
	}
	d := contextsData{IsUser: v.user != nil}
	for _, saved := range s.o.Accounts.SavedContexts(v.principal) {
		d.Saved = append(d.Saved, savedContextRow{saved.SavedSearch, contextLink(saved.Name), v.user != nil && saved.User == v.user.ID})
	}
	checks := 0
	for name := range corpus.ExistingContexts(s.o.Contexts, repositoryNames(repositories), "") {
		if checks += len(repositories); len(d.Rows) == maxContexts || len(d.Rows) > 0 && checks > maxMemberChecks {
			d.More = true
			break
		}
		row := contextRow{Link: contextLink(name)}
		for _, r := range repositories {
			if !s.o.Contexts[name](r.Name) {
				continue
			}
			if len(row.Repositories) < shownOfContext {
				row.Repositories = append(row.Repositories, crumb{r.Name, repositoryURL(r.Name)})
			} else {
				row.More++
			}
		}
		d.Rows = append(d.Rows, row)
	}
	return s.renderPage(w, v, view{template: "contexts", title: s.texts.mustFormat("contexts"), data: d})
}

// contextsData is the data of the page.
type contextsData struct {
	Saved []savedContextRow
	Rows  []contextRow // of the configuration
	More  bool         // the bounds left some out
	// IsUser means that the visitor may save searches.
	IsUser bool
}

// savedContextRow is a search context that a saved search defines.
type savedContextRow struct {
	*account.SavedSearch
	Link facetLink
	Own  bool
}

// contextRow is a search context on the page, with the repositories that exist for the visitor.
type contextRow struct {
	Link         facetLink
	Repositories []crumb
	More         int // repositories that are not listed
}

// Total returns the number of repositories; templates call it.
func (c contextRow) Total() int { return len(c.Repositories) + c.More }

// contextLink returns the filter of a search context, with the list of its repositories.
func contextLink(name string) facetLink {
	filter := (&syntax.Context{Name: name}).String()
	return facetLink{filter, plainParams().URL(filter + " type:repo")}
}

// contextNames responds with the names of search contexts that contain some letters, as
// JSON.
func (s *Server) contextNames(w http.ResponseWriter, v *pageRequest) error {
	repositories, err := s.o.Search.SearchableRepositories(v.r.Context())
	if err != nil {
		return err
	}
	names := s.listContexts(v.principal, repositories, v.r.URL.Query().Get("name"), maxContextNames)
	body, err := json.Marshal(names)
	if err != nil {
		return fmt.Errorf("web: names of contexts: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the browser may have disconnected
	return nil
}

// listContexts returns the names of at most n search contexts that contain some letters, never
// nil: those that saved searches define, then those of the configuration. As in searches, one of
// these exists for callers who may see one of its repositories.
func (s *Server) listContexts(p *auth.Principal, repositories []*corpus.Repository, letters string, n int) []string {
	names := []string{}
	for _, saved := range s.o.Accounts.SavedContexts(p) {
		if len(names) < n && strings.Contains(strings.ToLower(saved.Name), strings.ToLower(letters)) {
			names = append(names, saved.Name)
		}
	}
	for name := range corpus.ExistingContexts(s.o.Contexts, repositoryNames(repositories), letters) {
		if len(names) >= n {
			break
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// repositoryNames iterates over the names of repositories.
func repositoryNames(repositories []*corpus.Repository) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, r := range repositories {
			if !yield(r.Name) {
				return
			}
		}
	}
}

// checkContexts returns a *syntax.Error at the first search context of a query that does not exist
// for the caller, so that the page can mark it before a search begins.
func (s *Server) checkContexts(v *pageRequest, q *syntax.Parsed) error {
	named := syntax.Contexts(q.Root)
	if len(named) == 0 {
		return nil
	}
	repositories, err := s.o.Search.SearchableRepositories(v.r.Context())
	if err != nil {
		return err
	}
	for _, c := range named {
		contains := s.o.Contexts[c.Name]
		if c.Means != nil || contains != nil && slices.ContainsFunc(repositories, func(r *corpus.Repository) bool { return contains(r.Name) }) {
			continue
		}
		at := min(c.At.Start, len(q.Text))
		unknown := &syntax.Error{
			Position: at, Column: utf8.RuneCountInString(q.Text[:at]) + 1, Query: q.Text,
			Message: s.texts.mustFormat("contextUnknown", "name", codehtml.SpellHidden(c.Name)), Advice: s.texts.mustFormat("contextAdvice"),
		}
		existing := s.listContexts(v.principal, repositories, "", math.MaxInt)
		if near := spelling.Nearest(c.Name, slices.Values(existing), syntax.MaxSuggestions); len(near) > 0 {
			unknown.Advice = s.texts.mustFormat("contextMeant", "names", strings.Join(near, ", "))
		}
		return unknown
	}
	return nil
}
