package search

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/match"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// A NameSearch finds names near words, in the files that the filters of a query select. It
// selects these files once. It belongs to one goroutine, and lives no longer than its view.
type NameSearch struct {
	s          *Searcher
	view       corpus.View
	filters    *syntax.Parsed // nil for none
	public     func(*code.Repository) bool
	isSelected bool             // selected is set
	selected   []corpus.Segment // with only the selected files visible
}

// NewNameSearch returns a NameSearch in the files that the filters select, or in all files if
// they are nil. public is Request.Public.
func (s *Searcher) NewNameSearch(view corpus.View, filters *syntax.Parsed, public func(*code.Repository) bool) *NameSearch {
	return &NameSearch{s: s, view: view, filters: filters, public: public}
}

// NearNames returns the symbols near a word or, if inText is set, other identifiers, those
// with the fewest typing errors first, and then the most frequent. All of them occur in
// documents that the view shows and the filters select. If the letter case counts, the word
// in another letter case is a name without errors. A word longer than a name has none.
func (n *NameSearch) NearNames(ctx context.Context, c *ShardNames) ([]string, error) {
	if len(c.Word) > match.MaxNameBytes {
		return nil, nil
	}
	var found []ShardNearName
	if shards, ok := n.view.(*shardedView); ok {
		call := *c
		call.Filters = n.filters
		found = shards.nearNames(ctx, &call)
	} else {
		all, err := n.findNames(ctx, c)
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

// findNames returns the names near a word in a view of this process, in any order.
func (n *NameSearch) findNames(ctx context.Context, c *ShardNames) (*ShardNearNames, error) {
	ticket, err := n.s.admission.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer ticket.Leave()
	w := ticket.Worker(ctx.Done())
	defer w.End()
	if !n.isSelected {
		if err := n.selectFiles(ctx, func() bool { return !w.Step() }); err != nil {
			return nil, err
		}
	}
	f := match.NewNameFinder(c.Word, c.CaseCounts, c.MaxErrors)
	if c.InText {
		err = f.SearchIdentifiers(w.Step, n.selected)
	} else {
		err = f.SearchSymbols(w.Step, n.selected)
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

// selectFiles sets the segments with the files that the filters select.
func (n *NameSearch) selectFiles(ctx context.Context, stop func() bool) error {
	n.selected = n.view.Segments()
	if n.filters != nil {
		p, err := n.s.planSearch(ctx, n.view, Request{Query: n.filters, Public: n.public, isPart: true})
		if err != nil {
			return err
		}
		if n.selected, err = match.SelectVisible(p.scope, p.segments, stop); err != nil {
			return err
		}
	}
	n.isSelected = true
	return nil
}

// findNearNames returns the names near a word. It keeps the selected files for the next call, which
// mostly has the same filters.
func (h *ShardSession) findNearNames(ctx context.Context, c *ShardNames) (*ShardNearNames, error) {
	if h.names == nil || !reflect.DeepEqual(h.names.filters, c.Filters) {
		h.names = h.s.NewNameSearch(h.view, c.Filters, h.public)
	}
	return h.names.findNames(ctx, c)
}

// NearErrors returns how many typing errors a name near a word may have.
func NearErrors(word string) int {
	if len(word) < 8 {
		return 1
	}
	return 2
}
