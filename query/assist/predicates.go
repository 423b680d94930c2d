package assist

import (
	"context"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
)

// A predicate on repositories, such as repo:has.file(path:go.mod), is a search for the
// repositories with such a file, and one on owners a search for CODEOWNERS (owners.go). It
// runs before the search that needs it, on the same view, so that it sees what the caller may
// see, and over all shards.

// predicateShare bounds the time for all predicates of a query to a fraction of
// Options.MaxDuration: 5 s of 30 s. It is part of Request.TimeLimit.
const predicateShare = 6

// predicateResolver finds the repositories and rules of the predicates of one request.
type predicateResolver struct {
	answerer *answerer
	request  *search.Request
	costs    search.Stats // of its searches
	// ownersBytes is the size of the rules of owners: see maxOwnersBytes.
	ownersBytes int
	// stopped is the reason why a search did not cover everything.
	stopped search.StopReason
}

// resolvePredicates returns the request with the repositories and rules of its predicates,
// and the costs of finding them, which count as work of the request.
func (a *answerer) resolvePredicates(ctx context.Context, r search.Request) (_ search.Request, costs search.Stats, err error) {
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
		return r, costs, nil
	}
	most := a.shareOfTime(predicateShare)
	if r.TimeLimit > 0 {
		most = min(most, r.TimeLimit)
	}
	deadline, known := time.Now().Add(most), map[string]syntax.Query{}
	p := &predicateResolver{answerer: a, request: &r, stopped: r.Incomplete}
	for _, q := range unknown {
		if known[q.String()] != nil {
			continue
		}
		switch q := q.(type) {
		case *syntax.RepoHas:
			known[q.String()], err = p.findRepositoriesWith(ctx, q, time.Until(deadline))
		case *syntax.Owned:
			known[q.String()], err = p.findOwned(ctx, q, time.Until(deadline))
		}
		if err != nil {
			return r, costs, err
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
	r.Query, r.Incomplete = &q, p.stopped
	return r, p.costs, nil
}

// findRepositoriesWith returns a predicate with its repositories, among those that the
// filters of the request select.
func (p *predicateResolver) findRepositoriesWith(ctx context.Context, has *syntax.RepoHas, left time.Duration) (*syntax.RepoHas, error) {
	found := *has
	found.Known, found.Unfinished = true, true
	if left <= 0 {
		p.stopped = search.StopTimeLimit
		return &found, nil
	}
	all := syntax.RepositoryFilters(p.request.Query.Root)
	if refs := coveredRefs(p.request.Query.Root); refs != nil {
		all = append(all, refs)
	}
	if has.Path != "" {
		all = append(all, &syntax.File{Pattern: has.Path, Case: has.Case})
	}
	if has.Content != "" {
		all = append(all, &syntax.Text{Pattern: has.Content, Regexp: true, Case: has.Case})
	}
	result, err := p.answerer.probe(ctx, search.Request{
		Query:   &syntax.Parsed{Root: &syntax.And{Children: all}, Select: syntax.SelectRepo},
		Matches: max(len(p.answerer.view.Repositories()), 1), Public: p.request.Public, TimeLimit: left, WithoutAdvice: true,
	}, nil)
	if err != nil {
		return nil, err
	}
	defer result.Release()
	p.costs.Add(&result.Stats)
	if found.Unfinished = result.Stopped != search.StopNone; found.Unfinished {
		p.stopped = result.Stopped
	}
	for _, repo := range result.Repositories {
		found.Found = append(found.Found, repo.ID)
	}
	slices.Sort(found.Found)
	return &found, nil
}

// coveredRefs returns a filter for the refs that a query covers, or nil for default
// branches: see nameRefs of package match.
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
