package match

import (
	"sync"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/codeowners"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// holdsFor returns the condition on repositories that a predicate is. If some repositories
// may be missing and the query excludes those with the predicate, all may have it: a
// repository that the search did not reach must not appear.
func holdsFor(q *syntax.RepoHas, negated bool) func(*corpus.Repository) bool {
	found := make(map[code.RepositoryID]bool, len(q.Found))
	for _, id := range q.Found {
		found[id] = true
	}
	return func(r *corpus.Repository) bool { return q.Unfinished && negated || found[r.ID] }
}

// isOwned returns the condition on paths that a predicate on owners is. A repository whose
// rules may be missing has no file without the owner: see holdsFor.
func isOwned(q *syntax.Owned, negated bool) func(r *corpus.Repository, path []byte) bool {
	rules := make(map[code.RepositoryID]func() codeowners.Matcher, len(q.Rules))
	for _, r := range q.Rules {
		rules[r.Repository] = sync.OnceValue(func() codeowners.Matcher { return codeowners.NewMatcher(r.Sections) })
	}
	return func(r *corpus.Repository, path []byte) bool {
		if q.Unfinished && negated {
			return true
		}
		matcher, ok := rules[r.ID]
		return ok && matcher().Owns(string(path))
	}
}
