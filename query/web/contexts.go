package web

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/query/web/internal/codehtml"
	"github.com/quarrysearch/quarry/schemas/spelling"
)

// contextsPath lists names of search contexts, for suggestions in the search box.
const contextsPath = searchPath + "/contexts"

// maxContextNames bounds the names in a list.
const maxContextNames = 10

// contextNames responds with the names of search contexts that contain some letters, as
// JSON. As in searches, a context exists for callers who may see one of its repositories.
func (s *Server) contextNames(w http.ResponseWriter, v *pageRequest) error {
	repositories, err := s.o.Search.SearchableRepositories(v.r.Context())
	if err != nil {
		return err
	}
	names := []string{}
	for name := range search.ExistingContexts(s.o.Contexts, repositoryNames(repositories), v.r.URL.Query().Get("name")) {
		if names = append(names, name); len(names) == maxContextNames {
			break
		}
	}
	body, err := json.Marshal(names)
	if err != nil {
		return fmt.Errorf("web: names of contexts: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the browser may have disconnected
	return nil
}

// repositoryNames iterates over the names of repositories.
func repositoryNames(repositories []*search.Repository) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, r := range repositories {
			if !yield(r.Name) {
				return
			}
		}
	}
}

// checkContexts returns a *syntax.Error at the first search context of a query that does
// not exist for the caller, so that the page can mark it before a search begins.
func (s *Server) checkContexts(ctx context.Context, q *syntax.Parsed) error {
	var named []*syntax.Context
	syntax.Walk(q.Root, func(n syntax.Query) bool {
		if c, ok := n.(*syntax.Context); ok {
			named = append(named, c)
		}
		return true
	})
	if len(named) == 0 {
		return nil
	}
	repositories, err := s.o.Search.SearchableRepositories(ctx)
	if err != nil {
		return err
	}
	for _, c := range named {
		contains := s.o.Contexts[c.Name]
		if contains != nil && slices.ContainsFunc(repositories, func(r *search.Repository) bool { return contains(r.Name) }) {
			continue
		}
		at := min(c.At.Start, len(q.Text))
		unknown := &syntax.Error{
			Position: at, Column: utf8.RuneCountInString(q.Text[:at]) + 1, Query: q.Text,
			Message: s.texts.mustFormat("contextUnknown", "name", codehtml.SpellHidden(c.Name)), Advice: s.texts.mustFormat("contextAdvice"),
		}
		existing := search.ExistingContexts(s.o.Contexts, repositoryNames(repositories), "")
		if near := spelling.Nearest(c.Name, existing, syntax.MaxSuggestions); len(near) > 0 {
			unknown.Advice = s.texts.mustFormat("contextMeant", "names", strings.Join(near, ", "))
		}
		return unknown
	}
	return nil
}
