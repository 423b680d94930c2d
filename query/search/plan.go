package search

import (
	"context"
	"fmt"
	"slices"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/match"
	"github.com/quarrysearch/quarry/query/syntax"
)

// A searchPlan defines what a search looks for, where, and in which order. It is complete
// before the search starts; a survey of the index may only refine its schedule.
type searchPlan struct {
	request Request
	scope   *match.Scope // the compiled query, on the repositories and refs of the view
	// segments are the segments of the view, with the places on the refs that the query
	// covers.
	segments []corpus.Segment
	// display is the number of matches to show. limit is the number of matches to check,
	// which exceeds a small requested number so that the search can choose the best.
	display, limit int
	// enough is the number of matches after which the search ends; limit, unless documents
	// are ranked before.
	enough int
	// ranked are the words by which documents are ranked before any is read, in lower
	// case; nil if they are not. See rank.go.
	ranked      []string
	schedule    *schedule
	needsSurvey bool              // the index must be surveyed before the first task, to order the tasks
	costs       []match.ListCosts // from which the rarity of the terms follows
	// remote is set if shards search, and segments is empty then.
	remote *remoteRun
}

// planSearch compiles the query of a request and opens the places of the view that it
// covers.
func (s *Searcher) planSearch(ctx context.Context, view corpus.View, r Request) (*searchPlan, error) {
	c, err := match.Compile(match.Options{
		Query: r.Query, Contexts: s.options.Contexts, Public: r.Public, LeafPoints: r.LeafPoints, MeansDefinitions: len(r.Documents) > 0,
	})
	if err != nil {
		return nil, (&match.Scope{Query: c, Repos: view.Repositories()}).SuggestContexts(err)
	}
	p := &searchPlan{request: r, scope: match.NewScope(c, view.Repositories(), nil)}
	_, sharded := view.(*shardedView)
	if !sharded {
		p.segments = view.Segments()
	}
	if p.scope.Restricted = r.restricted || corpus.Restricted(view); p.scope.Restricted && !r.isPart {
		if err := p.scope.CheckContexts(); err != nil {
			return nil, err
		}
	}
	if c.Revisions && !sharded {
		if p.segments, p.scope.Refs, err = view.Revisions(ctx, c.AnyRef); err != nil {
			return nil, fmt.Errorf("open revisions: %w", err)
		}
	}
	return p, nil
}

// ChooseContexts decides what the search contexts of a query mean that have a name of the
// configuration and of a saved search. That of the configuration goes before, if it has a
// repository that exists for the caller. Otherwise a saved search with its name would reveal it.
func (s *Searcher) ChooseContexts(view corpus.View, q *syntax.Parsed) {
	for _, c := range syntax.Contexts(q.Root) {
		contains := s.options.Contexts[c.Name]
		if c.Means == nil || contains == nil {
			continue
		}
		exists := func(r *corpus.Repository) bool { return r != nil && contains(r.Name) }
		if !corpus.Restricted(view) || slices.ContainsFunc(view.Repositories(), exists) {
			c.Means = nil
		}
	}
}

// orderTasks sets the limits on matches checked and shown, and orders the tasks. The
// answer has room for maxDisplay matches.
func (p *searchPlan) orderTasks(maxDisplay int) {
	p.display = min(p.request.displayLimit(), maxDisplay) // the search holds no more
	if p.limit = p.request.Matches; !p.scope.Query.ListsRepositories() && !p.request.AnyMatch {
		p.limit = max(p.limit, MinLooked)
	}
	blocks, segments := indexBlocks(p.segments), len(p.segments)
	if p.remote != nil {
		blocks, segments = p.remote.blocks, len(p.remote.segments)
	}
	p.enough = p.limit
	if p.ranked = p.rankedWords(); p.ranked != nil {
		p.limit = max(p.limit, maxOrderedMatches) // the documents are the bound
		p.scope.MeansTests = testWord.MatchString(p.request.Query.Text)
	} else {
		if p.remote == nil {
			p.costs = p.scope.CountLists(p.segments)
		}
		p.scope.Rarity = p.scope.RarityWeights(p.costs)
	}
	var documents [][]segment.DocID
	if len(p.request.Documents) > 0 {
		documents = documentsBySegment(p.segments, p.request.Documents)
	}
	p.schedule, p.needsSurvey = newSchedule(p.scope, segments, blocks, documents, &p.request)
	if p.ranked != nil && !p.needsSurvey {
		p.schedule.segmentStates, p.needsSurvey = make([]segmentState, segments), true
	}
}

// listsRegistered reports whether the answer lists repositories that are determined by
// the registered repositories alone. Such a search visits no segment.
func (p *searchPlan) listsRegistered() bool {
	c := p.scope.Query
	return p.request.Query.Type == syntax.TypeRepo && c.ListsRepositories() && len(c.Atoms) == 0 && match.OnlyRepositories(c)
}
