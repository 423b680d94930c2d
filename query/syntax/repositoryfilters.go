package syntax

import "slices"

// RepositoryFilters returns the filters on repositories that hold for all matches of a
// query.
func RepositoryFilters(root Query) []Query {
	return slices.DeleteFunc(Operands(root), func(q Query) bool {
		if not, ok := q.(*Not); ok {
			q = not.Child
		}
		return !isRepositoryFilter(q)
	})
}

func isRepositoryFilter(q Query) bool {
	switch q.(type) {
	case *Repo, *RepoSet, *Archived, *Fork, *Visibility, *Context:
		return true
	}
	return false
}

// SelectsRepositories reports whether a query consists of nothing but filters on repositories
// that need no search, in any combination, so that it can be a search context.
func SelectsRepositories(root Query) bool {
	isOther := func(q Query) bool { return !SelectsRepositories(q) }
	switch q := root.(type) {
	case *And:
		return !slices.ContainsFunc(q.Children, isOther)
	case *Or:
		return !slices.ContainsFunc(q.Children, isOther)
	case *Not:
		return SelectsRepositories(q.Child)
	}
	return isRepositoryFilter(root)
}

// Contexts returns the search contexts that a query names, in the order of its text.
func Contexts(root Query) (named []*Context) {
	Walk(root, func(q Query) bool {
		if c, ok := q.(*Context); ok {
			named = append(named, c)
		}
		return true
	})
	return named
}
