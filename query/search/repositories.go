package search

import (
	"regexp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/plan"
)

// onlyRepositories reports whether a query depends only on repositories.
func onlyRepositories(c *compiledQuery) bool {
	return !slices.ContainsFunc(c.predicates, func(p *predicate) bool { return p.repo == nil })
}

// searchRepositories answers a query on repositories alone.
func searchRepositories(sc *scope, r Request) *Result {
	result := &Result{Exhaustive: true}
	for i, repo := range sc.repos {
		if repo != nil && evalRepository(sc, sc.c.root, i) {
			result.Repositories = append(result.Repositories, repo)
		}
	}
	sortRepositories(result.Repositories)
	result.Stats.Matches = min(len(result.Repositories), r.Matches+1)
	if len(result.Repositories) > r.Matches {
		result.Exhaustive, result.Stopped = false, StopMatchLimit
	}
	result.Repositories = result.Repositories[:min(len(result.Repositories), r.displayLimit())]
	result.Stats.Displayed = len(result.Repositories)
	return result
}

func evalRepository(sc *scope, n node, repo int) bool {
	switch n := n.(type) {
	case *andNode:
		return !slices.ContainsFunc(n.children, func(k node) bool { return !evalRepository(sc, k, repo) })
	case *orNode:
		return slices.ContainsFunc(n.children, func(k node) bool { return evalRepository(sc, k, repo) })
	case *notNode:
		return !evalRepository(sc, n.child, repo)
	case *constNode:
		return n.value
	case *placeNode:
		return sc.repoHas[n.number][repo]
	}
	return false
}

// literalRegexp returns a regular expression for a pattern that is a choice of literals.
func literalRegexp(p *plan.Pattern) *regexp.Regexp {
	quoted := make([]string, len(p.Sets[0]))
	for i, s := range p.Sets[0] {
		quoted[i] = regexp.QuoteMeta(s)
	}
	flags := ""
	if p.Fold {
		flags = "(?i)"
	}
	return regexp.MustCompile(flags + "(?:" + strings.Join(quoted, "|") + ")")
}
