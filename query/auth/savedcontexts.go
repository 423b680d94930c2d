package auth

import (
	"cmp"
	"slices"

	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/account"
)

// SavedContext is a saved search that consists of filters on repositories. The filter context:
// accepts its name like that of a context of the configuration, which goes before it.
type SavedContext struct {
	*account.SavedSearch
	Filters syntax.Query // satisfy syntax.SelectsRepositories
}

// SavedContexts returns the search contexts that p's saved searches define, in the order of
// SavedSearches. Of those with the same name it returns the user's own or else the oldest, so that
// another user cannot replace a shared one.
func (s *Service) SavedContexts(p *Principal) []SavedContext {
	return s.listSavedContexts(p, func(string) bool { return true })
}

// ParseQuery parses a query that p wrote. Each search context that it names gets the filters of p's
// saved search with that name, if there is one; filters do not name saved searches in turn. A nil
// Service knows no saved searches. The error is a *syntax.Error.
func (s *Service) ParseQuery(p *Principal, text string, o syntax.Options) (*syntax.Parsed, error) {
	q, err := syntax.Parse(text, o)
	if err != nil || s == nil {
		return q, err
	}
	named := syntax.Contexts(q.Root)
	if len(named) == 0 {
		return q, nil
	}
	isNamed := func(name string) bool {
		return slices.ContainsFunc(named, func(c *syntax.Context) bool { return c.Name == name })
	}
	for _, saved := range s.listSavedContexts(p, isNamed) {
		for _, c := range named {
			if c.Name == saved.Name {
				c.Means = saved.Filters
			}
		}
	}
	return q, nil
}

func (s *Service) listSavedContexts(p *Principal, wants func(name string) bool) (contexts []SavedContext) {
	searches, err := s.SavedSearches(p)
	if err != nil {
		return nil // who may not read saved searches has none
	}
	for _, search := range searches {
		if !wants(search.Name) {
			continue
		}
		found := SavedContext{search, contextFilters(search)}
		if found.Filters == nil {
			continue
		}
		i := slices.IndexFunc(contexts, func(c SavedContext) bool { return c.Name == search.Name })
		switch {
		case i < 0:
			contexts = append(contexts, found)
		case contexts[i].User != p.Actor.User && cmp.Or(search.CreatedAt.Compare(contexts[i].CreatedAt), cmp.Compare(search.ID, contexts[i].ID)) < 0:
			contexts[i] = found
		}
	}
	return contexts
}

// replacesContext reports whether a change of a saved search makes it a shared context that goes
// before the one that another user shares under this name. It would, if it is older.
func (s *Service) replacesContext(before, after *account.SavedSearch) bool {
	isContext := func(q *account.SavedSearch) bool { return q.Shared && q.Name == after.Name && contextFilters(q) != nil }
	return !isContext(before) && isContext(after) && slices.ContainsFunc(s.o.Directory.SavedSearches(after.User), func(q *account.SavedSearch) bool {
		return q.User != after.User && isContext(q) && !before.CreatedAt.IsZero() && before.CreatedAt.Before(q.CreatedAt)
	})
}

// contextFilters returns the filters of a saved search that is a search context, or nil.
func contextFilters(q *account.SavedSearch) syntax.Query {
	parsed, err := syntax.Parse(q.Query, syntax.Options{Regexp: q.Regexp, CaseSensitive: q.CaseSensitive})
	if err != nil || !syntax.SelectsRepositories(parsed.Root) {
		return nil
	}
	return parsed.Root
}
