package navigate

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// MaxSymbols bounds the symbols listed and counted.
const MaxSymbols = 5000

// SymbolsRequest selects symbols of a repository.
type SymbolsRequest struct {
	// Repository is the full name. Revision is the short or full name of an indexed
	// branch or tag; empty or HEAD means the default branch.
	Repository, Revision string
	// Path selects one file; empty means all files.
	Path string
	// Prefix is the beginning of the names, in any letter case.
	Prefix string
	// Kind is a value of the filter kind, in any letter case; empty means all.
	Kind string
	// Parent is the exact name of the definition around the symbols; empty means all.
	Parent string
}

// SymbolList lists symbols of a repository, by path and line.
type SymbolList struct {
	Symbols []ListedSymbol
	// Exhaustive reports whether these are all the symbols.
	Exhaustive bool
}

// ListedSymbol is a symbol with the file that defines it.
type ListedSymbol struct {
	Repo     *corpus.Repository
	Ref      code.Ref
	Path     string
	Language code.Language
	Symbol   code.Symbol
	// Start is the beginning of the name.
	Start search.Location
}

// KindCount is the number of symbols of a kind.
type KindCount struct {
	Kind  code.SymbolKind
	Count int
}

// CountKinds returns the number of symbols of each kind, most frequent first.
func (l *SymbolList) CountKinds() []KindCount {
	counts := map[code.SymbolKind]int{}
	for i := range l.Symbols {
		counts[l.Symbols[i].Symbol.Kind]++
	}
	out := make([]KindCount, 0, len(counts))
	for kind, n := range counts {
		out = append(out, KindCount{kind, n})
	}
	slices.SortFunc(out, func(a, b KindCount) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(string(a.Kind), string(b.Kind)))
	})
	return out
}

// Symbols lists the symbols that a repository or a file defines. Its errors wrap
// ErrInvalid or come from the search.
func (n *Navigator) Symbols(ctx context.Context, v corpus.View, r SymbolsRequest) (*SymbolList, error) {
	in := Request{Symbol: "x", Repository: r.Repository, Revision: r.Revision, Kind: r.Kind}
	if err := in.validate(); err != nil {
		return nil, err
	}
	if r.Repository == "" {
		return nil, fmt.Errorf("%w: repo: want the full name of a repository", ErrInvalid)
	}
	symbol := &syntax.Symbol{Pattern: ".", Case: syntax.CaseNo, Parent: r.Parent}
	if r.Prefix != "" {
		symbol.Pattern = "^" + regexp.QuoteMeta(r.Prefix)
	}
	if r.Kind != "" {
		symbol.Kinds = []syntax.Kinds{{Words: []string{strings.ToLower(r.Kind)}}}
	}
	var leaf syntax.Query = symbol
	if r.Path != "" {
		leaf = &syntax.And{Children: []syntax.Query{leaf, &syntax.File{Pattern: "^" + regexp.QuoteMeta(r.Path) + "$", Case: syntax.CaseYes}}}
	}
	found, err := n.searcher.Search(ctx, v, search.Request{Query: in.buildQuery(leaf), Matches: MaxSymbols, WithoutAdvice: true})
	if err != nil {
		return nil, fmt.Errorf("list the symbols of %s: %w", r.Repository, err)
	}
	defer found.Release()
	out := &SymbolList{Exhaustive: found.Exhaustive}
	for i := range found.Files {
		f := &found.Files[i]
		for k := range f.Chunks {
			c := &f.Chunks[k]
			for n, s := range c.Symbols {
				if s != nil {
					out.Symbols = append(out.Symbols, ListedSymbol{f.Repo, f.Ref, f.Path, f.Language, *s, c.Ranges[n].Start})
				}
			}
		}
	}
	slices.SortFunc(out.Symbols, func(a, b ListedSymbol) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Symbol.Offset, b.Symbol.Offset), strings.Compare(string(a.Ref), string(b.Ref)))
	})
	return out, nil
}
