package syntax

import "slices"

// RepositoryFilters returns the filters on repositories that hold for all matches of a
// query.
func RepositoryFilters(root Query) []Query {
	return slices.DeleteFunc(Operands(root), func(q Query) bool {
		if not, ok := q.(*Not); ok {
			q = not.Child
		}
		switch q.(type) {
		case *Repo, *RepoSet, *Archived, *Fork, *Visibility, *Context:
			return false
		}
		return true
	})
}
