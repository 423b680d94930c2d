package search

import (
	"cmp"
	"slices"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/syntax"
)

// selectKindOf returns the kind of results of a query: the value of select: or, without
// one, of type:.
func selectKindOf(q *syntax.Parsed) syntax.SelectKind {
	if q.Select != syntax.SelectDefault {
		return q.Select
	}
	switch q.Type {
	case syntax.TypeFile:
		return syntax.SelectFile
	case syntax.TypeRepo:
		return syntax.SelectRepo
	case syntax.TypeSymbol:
		return syntax.SelectSymbol
	}
	return syntax.SelectDefault
}

// listsRepositories reports whether the answer lists repositories.
func (c *compiledQuery) listsRepositories() bool { return c.selectKind == syntax.SelectRepo }

// entriesOnly reports whether the answer shows only files or repositories. The search
// then needs to know of each pattern only whether it matches.
func (c *compiledQuery) entriesOnly() bool {
	return c.selectKind == syntax.SelectFile || c.selectKind == syntax.SelectRepo
}

// choosesSymbols reports whether the answer shows only matches on symbols, and some
// matches may not lie on a symbol.
func (c *compiledQuery) choosesSymbols() bool {
	return c.selectKind == syntax.SelectSymbol && slices.ContainsFunc(c.atoms, func(a *atom) bool { return !a.symbols })
}

// withSymbols adds a pattern for all symbols to a query that shows symbols but has no
// pattern, so that it shows the symbols of the files that its filters select.
func withSymbols(q syntax.Query) syntax.Query {
	patterns := false
	syntax.Walk(q, func(q syntax.Query) bool {
		switch q.(type) {
		case *syntax.Text, *syntax.Symbol:
			patterns = true
		}
		return !patterns
	})
	if patterns {
		return q
	}
	return &syntax.And{Children: []syntax.Query{q, &syntax.Symbol{Pattern: ".", Case: syntax.CaseNo}}}
}

// collectHit adds the matches that the query shows to a hit, and reports whether the hit
// counts with these matches.
func (v *segmentSearcher) collectHit(h *hit) (bool, error) {
	shown := v.s.c.selectKind
	if v.s.c.entriesOnly() {
		h.count = 1
		if v.soughtRepos != nil {
			delete(v.soughtRepos, v.seg.Places.Repo[h.place])
		}
		return true, nil
	}
	if err := v.gatherMatches(v.s.c.root, h); err != nil {
		return false, err
	}
	if v.mergesAtoms {
		h.mergeMatches()
	}
	if v.s.c.choosesSymbols() {
		if err := v.keepSymbolMatches(h); err != nil {
			return false, err
		}
	}
	if shown == syntax.SelectSymbol || shown == syntax.SelectContent {
		return h.count > 0, nil
	}
	h.ensureCount()
	return true, nil
}

// keepSymbolMatches keeps the matches that lie on the name of a symbol.
func (v *documentMatcher) keepSymbolMatches(h *hit) error {
	if err := v.seg.Reader.Outline(&v.cursor, h.doc, v.outline); err != nil {
		return err
	}
	h.matches = slices.DeleteFunc(slices.Clone(h.matches), func(m match) bool {
		return m.symbol < 0 && v.outline.At(m.start, m.end) < 0
	})
	h.count = len(h.matches)
	return nil
}

// initSought collects the repositories of the current segment if the answer lists
// repositories. Each is removed once it is found.
func (v *segmentSearcher) initSought() {
	if v.s.c.selectKind != syntax.SelectRepo {
		return
	}
	v.soughtRepos = make(map[uint32]bool)
	for i, repo := range v.seg.Places.Repo {
		if v.seg.IsVisible(i) {
			v.soughtRepos[repo] = true
		}
	}
}

// foundAt reports whether a place adds nothing, because the answer lists repositories and
// its repository is already found.
func (v *segmentSearcher) foundAt(place int) bool {
	return v.soughtRepos != nil && !v.soughtRepos[v.seg.Places.Repo[place]]
}

// foundAll reports whether the current segment can add nothing more.
func (v *segmentSearcher) foundAll() bool { return v.soughtRepos != nil && len(v.soughtRepos) == 0 }

// countNew returns the number of matches that the hits of a segment add to those of
// earlier segments. Each repository counts once, and seen records it.
func (n *searchRun) countNew(d *taskResult, seen map[uint32]bool) int {
	if n.scope.c.selectKind != syntax.SelectRepo {
		return d.count
	}
	before := len(seen)
	for i := range d.hits {
		seen[n.repoOf(&d.hits[i])] = true
	}
	return len(seen) - before
}

// distinctHits keeps the hits of repositories that seen does not contain, and adds them
// to seen. It returns hits unchanged if the answer does not list repositories.
func (n *searchRun) distinctHits(hits []hit, seen map[uint32]bool) []hit {
	if n.scope.c.selectKind != syntax.SelectRepo {
		return hits
	}
	return slices.DeleteFunc(hits, func(h hit) bool {
		repo := n.repoOf(&h)
		again := seen[repo]
		seen[repo] = true
		return again
	})
}

// repoOf returns the number of the repository of a hit in scope.repos.
func (n *searchRun) repoOf(h *hit) uint32 {
	if n.remote != nil {
		return n.remote.hits[h.place].repo
	}
	return n.segments[h.segment].Places.Repo[h.place]
}

// listRepositories sets the repositories of a result from its hits.
func (n *searchRun) listRepositories(result *Result, shown []hit) {
	result.Stats.Files = 0
	for _, h := range shown {
		result.Repositories = append(result.Repositories, n.scope.repos[n.repoOf(&h)])
	}
	result.Stats.Displayed = len(result.Repositories)
	sortRepositories(result.Repositories)
}

// sortRepositories orders repositories by name.
func sortRepositories(repos []*corpus.Repository) {
	slices.SortFunc(repos, func(a, b *corpus.Repository) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
}
