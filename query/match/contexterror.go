package match

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/spelling"
)

// contextError reports a search context that does not exist for the caller; near holds
// the nearest names of contexts that do.
type contextError struct {
	name string
	near []string
}

func (e *contextError) Error() string {
	text := fmt.Sprintf("search context %q: %v", e.name, code.ErrNotFound)
	if len(e.near) > 0 {
		text += "; did you mean " + strings.Join(e.near, " or ") + "?"
	}
	return text
}

func (e *contextError) Unwrap() error { return code.ErrNotFound }

// A namedContext is a search context that a query names.
type namedContext struct {
	name     string
	contains corpus.Context
}

// SuggestContexts adds suggestions to the error about a search context that is not
// configured.
func (s *Scope) SuggestContexts(err error) error {
	var unknown *contextError
	if errors.As(err, &unknown) {
		return &contextError{unknown.name, s.NearContexts(unknown.name)}
	}
	return err
}

// CheckContexts returns an error for a search context that contains no repository that
// exists for the caller: its name would reveal other repositories.
func (s *Scope) CheckContexts() error {
	for _, c := range s.Query.namedContexts {
		if !s.hasRepository(c.contains) {
			return &contextError{c.name, s.NearContexts(c.name)}
		}
	}
	return nil
}

// hasRepository reports whether a search context contains a repository that exists for
// the caller.
func (s *Scope) hasRepository(holds corpus.Context) bool {
	return slices.ContainsFunc(s.Repos, func(r *corpus.Repository) bool { return r != nil && holds(r.Name) })
}

// NearContexts suggests search contexts that contain a repository that exists for the
// caller.
func (s *Scope) NearContexts(name string) []string {
	repositories := func(yield func(string) bool) {
		for _, r := range s.Repos {
			if r != nil && !yield(r.Name) {
				return
			}
		}
	}
	return spelling.Nearest(name, corpus.ExistingContexts(s.Query.contexts, repositories, ""), syntax.MaxSuggestions)
}
