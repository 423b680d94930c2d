package match

import (
	"slices"

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

// ListsRepositories reports whether the answer lists repositories.
func (c *Query) ListsRepositories() bool { return c.SelectKind == syntax.SelectRepo }

// EntriesOnly reports whether the answer shows only files or repositories. The search
// then needs to know of each pattern only whether it matches.
func (c *Query) EntriesOnly() bool {
	return c.SelectKind == syntax.SelectFile || c.SelectKind == syntax.SelectRepo
}

// HasOneTerm reports whether all matches that the query shows are of one pattern in text. A match
// of sym: is the whole name of a symbol, whichever part of the name the pattern matches.
func (c *Query) HasOneTerm() bool {
	shown := 0
	for _, a := range c.Atoms {
		if !a.existenceOnly {
			shown++
		}
	}
	return shown == 1 && !slices.ContainsFunc(c.Atoms, func(a *Atom) bool { return a.Symbols && !a.existenceOnly })
}

// choosesSymbols reports whether the answer shows only matches on symbols, and some
// matches may not lie on a symbol.
func (c *Query) choosesSymbols() bool {
	return c.SelectKind == syntax.SelectSymbol && slices.ContainsFunc(c.Atoms, func(a *Atom) bool { return !a.Symbols })
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
