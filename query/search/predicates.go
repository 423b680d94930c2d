package search

import (
	"context"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// A predicate on repositories, such as repo:has.file(path:go.mod), is a search for the
// repositories with such a file, and one on owners a search for CODEOWNERS (owners.go). It
// runs before the search that needs it, on the same view, so that it sees what the caller may
// see, and over all shards.

// predicateShare bounds the time for all predicates of a query to a fraction of
// Options.MaxDuration: 5 s of 30 s. It is part of Request.timeLimit.
const predicateShare = 6

// resolvePredicates returns the request with the repositories and rules of its predicates.
// The work counts as work of the request.
func (s *Searcher) resolvePredicates(ctx context.Context, view View, r Request) (Request, error) {
	var unknown []syntax.Query
	syntax.Walk(r.Query.Root, func(q syntax.Query) bool {
		switch q := q.(type) {
		case *syntax.RepoHas:
			if !q.Known {
				unknown = append(unknown, q)
			}
		case *syntax.Owned:
			if !q.Known {
				unknown = append(unknown, q)
			}
		}
		return true
	})
	if len(unknown) == 0 {
		return r, nil
	}
	deadline, known := time.Now().Add(r.maxDuration(s.options.MaxDuration/predicateShare)), map[string]syntax.Query{}
	for _, q := range unknown {
		if known[q.String()] != nil {
			continue
		}
		var err error
		switch q := q.(type) {
		case *syntax.RepoHas:
			known[q.String()], err = s.findRepositoriesWith(ctx, view, &r, q, time.Until(deadline))
		case *syntax.Owned:
			known[q.String()], err = s.findOwned(ctx, view, &r, q, time.Until(deadline))
		}
		if err != nil {
			return r, err
		}
	}
	q := *r.Query
	q.Root = syntax.Map(q.Root, func(q syntax.Query) syntax.Query {
		switch found := known[q.String()].(type) {
		case *syntax.RepoHas:
			has := *found
			has.At = q.Span()
			return &has
		case *syntax.Owned:
			owned := *found
			owned.At = q.Span()
			return &owned
		}
		return q
	})
	r.Query = &q
	return r, nil
}

// findRepositoriesWith returns a predicate with its repositories, among those that the
// filters of the request select, and adds the costs to the request.
func (s *Searcher) findRepositoriesWith(
	ctx context.Context, view View, r *Request, has *syntax.RepoHas, left time.Duration,
) (*syntax.RepoHas, error) {
	found := *has
	found.Known, found.Unfinished = true, true
	if left <= 0 {
		r.predicateStop = StopTimeLimit
		return &found, nil
	}
	all := repositoryFilters(r.Query.Root)
	if refs := coveredRefs(r.Query.Root); refs != nil {
		all = append(all, refs)
	}
	if has.Path != "" {
		all = append(all, &syntax.File{Pattern: has.Path, Case: has.Case})
	}
	if has.Content != "" {
		all = append(all, &syntax.Text{Pattern: has.Content, Regexp: true, Case: has.Case})
	}
	result, err := s.admitSearch(ctx, view, Request{
		Query:   &syntax.Parsed{Root: &syntax.And{Children: all}, Select: syntax.SelectRepo},
		Matches: max(len(view.Repositories()), 1), Public: r.Public, timeLimit: left, WithoutAdvice: true, probes: r.probes,
	}, nil)
	if err != nil {
		return nil, err
	}
	defer result.Release()
	r.predicateCosts.add(&result.Stats)
	if found.Unfinished = result.Stopped != StopNone; found.Unfinished {
		r.predicateStop = result.Stopped
	}
	for _, repo := range result.Repositories {
		found.Found = append(found.Found, repo.ID)
	}
	slices.Sort(found.Found)
	return &found, nil
}

// repositoryFilters returns the filters on repositories that hold for all matches of a
// query.
func repositoryFilters(root syntax.Query) []syntax.Query {
	return slices.DeleteFunc(syntax.Operands(root), func(q syntax.Query) bool {
		if not, ok := q.(*syntax.Not); ok {
			q = not.Child
		}
		switch q.(type) {
		case *syntax.Repo, *syntax.RepoSet, *syntax.Archived, *syntax.Fork, *syntax.Visibility, *syntax.Context:
			return false
		}
		return true
	})
}

// coveredRefs returns a filter for the refs that a query covers, or nil for default
// branches: see compiledQuery.nameRefs.
func coveredRefs(root syntax.Query) syntax.Query {
	covered := &syntax.Or{}
	var collect func(q syntax.Query, negated bool)
	collect = func(q syntax.Query, negated bool) {
		syntax.Walk(q, func(q syntax.Query) bool {
			switch q := q.(type) {
			case *syntax.Revision:
				covered.Children = append(covered.Children, q)
				if negated {
					covered.Children = append(covered.Children, &syntax.Revision{Pattern: syntax.AllRevisions})
				}
			case *syntax.Not:
				collect(q.Child, true)
				return false
			}
			return true
		})
	}
	if collect(root, false); len(covered.Children) == 0 {
		return nil
	}
	return covered
}

// holdsFor returns the condition on repositories that a predicate is. If some repositories
// may be missing and the query excludes those with the predicate, all may have it: a
// repository that the search did not reach must not appear.
func holdsFor(q *syntax.RepoHas, negated bool) func(*Repository) bool {
	found := make(map[code.RepositoryID]bool, len(q.Found))
	for _, id := range q.Found {
		found[id] = true
	}
	return func(r *Repository) bool { return q.Unfinished && negated || found[r.ID] }
}
