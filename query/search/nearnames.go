package search

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/match"
	"github.com/quarrysearch/quarry/schemas/code"
)

// NearNames returns the symbols near a word or, if inText is set, other identifiers, those
// with the fewest typing errors first, and then the most frequent. All of them occur in
// documents that the view shows and the filters select. If the letter case counts, the word
// in another letter case is a name without errors. A word longer than a name has none. public
// is Request.Public.
func (s *Searcher) NearNames(ctx context.Context, view corpus.View, c *ShardNames, public func(*code.Repository) bool) ([]string, error) {
	if len(c.Word) > match.MaxNameBytes {
		return nil, nil
	}
	var found []ShardNearName
	if shards, ok := view.(*shardedView); ok {
		found = shards.nearNames(ctx, c)
	} else {
		all, err := s.findNearNames(ctx, view, c, public)
		if err != nil {
			return nil, err
		}
		found = all.Names
	}
	slices.SortFunc(found, func(a, b ShardNearName) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	})
	out := make([]string, 0, len(found))
	for _, n := range found {
		out = append(out, n.Name)
	}
	return out, nil
}

// findNearNames returns the names near a word in a view, in any order.
func (s *Searcher) findNearNames(
	ctx context.Context, view corpus.View, c *ShardNames, public func(*code.Repository) bool,
) (*ShardNearNames, error) {
	ticket, err := s.admission.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer ticket.Leave()
	w := ticket.Worker(ctx.Done())
	defer w.End()
	f := match.NewNameFinder(c.Word, c.CaseCounts, c.MaxErrors)
	segments := view.Segments()
	if c.Filters != nil {
		p, err := s.planSearch(ctx, view, Request{Query: c.Filters, Public: public, isPart: true})
		if err != nil {
			return nil, err
		}
		if segments, err = match.SelectVisible(p.scope, p.segments, func() bool { return !w.Step() }); err != nil {
			return nil, err
		}
	}
	if c.InText {
		err = f.SearchIdentifiers(w.Step, segments)
	} else {
		err = f.SearchSymbols(w.Step, segments)
	}
	if err != nil {
		return nil, err
	}
	all := &ShardNearNames{Blocks: f.Blocks}
	for _, n := range f.Found {
		all.Names = append(all.Names, ShardNearName{n.Name, n.Distance, n.Count})
	}
	return all, nil
}

// NearErrors returns how many typing errors a name near a word may have.
func NearErrors(word string) int {
	if len(word) < 8 {
		return 1
	}
	return 2
}
