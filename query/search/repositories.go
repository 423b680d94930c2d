package search

import (
	"regexp"
	"strings"

	"github.com/quarrysearch/quarry/query/match"
	"github.com/quarrysearch/quarry/query/plan"
)

// searchRepositories answers a query on repositories alone.
func searchRepositories(sc *match.Scope, r Request) *Result {
	result := &Result{Exhaustive: true}
	for i, repo := range sc.Repos {
		if repo != nil && match.EvalRepository(sc, sc.Query.Root, i) {
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
