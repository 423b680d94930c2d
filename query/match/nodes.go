package match

import (
	"fmt"
	"slices"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/bitset"
	"github.com/quarrysearch/quarry/query/internal/identifier"
	"github.com/quarrysearch/quarry/query/syntax"
)

// IsJoined reports whether a name consists of the terms of the query.
func (c *Query) IsJoined(name string) bool {
	return c.Joined != "" && len(name) >= len(c.Joined) && identifier.EqualIgnoringStyle(c.Joined, name)
}

// SoleSymbol returns the sym: filter of a query without another pattern, or nil.
func (c *Query) SoleSymbol() *syntax.Symbol {
	if len(c.Atoms) != 1 || !slices.ContainsFunc(c.RootConjuncts(), func(n Node) bool { _, ok := n.(*atomNode); return ok }) {
		return nil
	}
	leaf, _ := c.Atoms[0].leaf.(*syntax.Symbol)
	return leaf
}

// RootConjuncts returns the conditions that all hold for every match.
func (c *Query) RootConjuncts() []Node {
	if and, ok := c.Root.(*andNode); ok {
		return and.children
	}
	return []Node{c.Root}
}

// IsAboutRepositories reports whether a node depends on repositories alone.
func IsAboutRepositories(n Node) bool {
	switch n := n.(type) {
	case *andNode:
		return !slices.ContainsFunc(n.children, func(k Node) bool { return !IsAboutRepositories(k) })
	case *orNode:
		return !slices.ContainsFunc(n.children, func(k Node) bool { return !IsAboutRepositories(k) })
	case *notNode:
		return IsAboutRepositories(n.child)
	case *placeNode:
		return n.Repo != nil
	case *constNode:
		return true
	}
	return false
}

// IsAboutText reports whether a node depends on a pattern in text, or on owners, which would
// take as long.
func IsAboutText(n Node) bool {
	switch n := n.(type) {
	case *andNode:
		return slices.ContainsFunc(n.children, IsAboutText)
	case *orNode:
		return slices.ContainsFunc(n.children, IsAboutText)
	case *notNode:
		return IsAboutText(n.child)
	case *atomNode:
		return true
	case *placeNode:
		return n.owned != nil
	}
	return false
}

// PlaceEvaluator decides conditions on places. It matches one path at a time, unless it
// has the column of the predicate in the segment.
type PlaceEvaluator struct {
	Scope   *Scope
	paths   pathMatcher
	Columns []bitset.Set // by predicate
}

// NewPlaceEvaluator returns an evaluator without columns.
func NewPlaceEvaluator(s *Scope) PlaceEvaluator {
	n := len(s.Query.Predicates)
	return PlaceEvaluator{s, newPathMatcher(n), make([]bitset.Set, n)}
}

// MatchesPath matches the path of a place.
func (v PlaceEvaluator) MatchesPath(p *Predicate, seg corpus.Segment, i int) bool {
	if column := v.Columns[p.Number]; column != nil {
		return column.Has(i)
	}
	return v.paths.matchesPath(p, seg.Places.Path(i))
}

// EvalPlace decides a condition on places.
func (v PlaceEvaluator) EvalPlace(n Node, seg corpus.Segment, i int) bool {
	switch n := n.(type) {
	case *andNode:
		return !slices.ContainsFunc(n.children, func(k Node) bool { return !v.EvalPlace(k, seg, i) })
	case *orNode:
		return slices.ContainsFunc(n.children, func(k Node) bool { return v.EvalPlace(k, seg, i) })
	case *notNode:
		return !v.EvalPlace(n.child, seg, i)
	case *constNode:
		return n.value
	case *placeNode:
		if n.Path != nil {
			return v.MatchesPath(n.Predicate, seg, i)
		}
		return v.Scope.evalPredicate(n.Predicate, seg, i)
	}
	return true
}

// EvalRepository decides a condition on repositories.
func EvalRepository(sc *Scope, n Node, repo int) bool {
	switch n := n.(type) {
	case *andNode:
		return !slices.ContainsFunc(n.children, func(k Node) bool { return !EvalRepository(sc, k, repo) })
	case *orNode:
		return slices.ContainsFunc(n.children, func(k Node) bool { return EvalRepository(sc, k, repo) })
	case *notNode:
		return !EvalRepository(sc, n.child, repo)
	case *constNode:
		return n.value
	case *placeNode:
		return sc.RepoHas[n.Number][repo]
	}
	return false
}

// OnlyRepositories reports whether a query depends only on repositories.
func OnlyRepositories(c *Query) bool {
	return !slices.ContainsFunc(c.Predicates, func(p *Predicate) bool { return p.Repo == nil })
}

// DescribePlan describes how the text of the atom is found.
func (a *Atom) DescribePlan() string {
	p := a.pattern
	region := "text"
	if a.Symbols {
		region = "symbols"
	}
	switch {
	case a.re2 != nil:
		return fmt.Sprintf("%s in %s: all lines in one pass", a.label, region)
	case p.Exact:
		return fmt.Sprintf("%s in %s: literals %q", a.label, region, p.Sets[0])
	case len(p.Sets) > 0:
		return fmt.Sprintf("%s in %s: lines with one of %q, the rarest of each segment", a.label, region, p.Sets)
	case p.Run.Bytes > 0:
		return fmt.Sprintf("%s in %s: lines with a run of %d bytes of its class", a.label, region, p.Run.Bytes)
	}
	return fmt.Sprintf("%s in %s: every line", a.label, region)
}
