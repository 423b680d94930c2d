package search

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/query/syntax"
)

// A searchPlan defines what a search looks for, where, and in which order. It is complete
// before the search starts; a survey of the index may only refine its schedule.
type searchPlan struct {
	request Request
	scope   *scope // the compiled query, on the repositories and refs of the view
	// segments are the segments of the view, with the places on the refs that the query
	// covers.
	segments []Segment
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
	needsSurvey bool // the index must be surveyed before the first task, to order the tasks
}

// planSearch compiles the query of a request and opens the places of the view that it
// covers.
func (s *Searcher) planSearch(ctx context.Context, view View, r Request) (*searchPlan, error) {
	c, err := compileQuery(&r, s.options.Contexts)
	if err != nil {
		return nil, (&scope{c: c, repos: view.Repositories()}).suggestContexts(err)
	}
	p := &searchPlan{request: r, segments: view.Segments(), scope: newScope(c, view.Repositories(), nil)}
	if p.scope.restricted = Restricted(view); p.scope.restricted {
		if err := p.scope.checkContexts(); err != nil {
			return nil, err
		}
	}
	if c.revisions {
		if p.segments, p.scope.refs, err = view.Revisions(ctx, c.anyRef); err != nil {
			return nil, fmt.Errorf("open revisions: %w", err)
		}
	}
	return p, nil
}

// orderTasks sets the limits on matches checked and shown, and orders the tasks. The
// answer has room for maxDisplay matches.
func (p *searchPlan) orderTasks(maxDisplay int) {
	p.display = min(p.request.displayLimit(), maxDisplay) // the search holds no more
	if p.limit = p.request.Matches; !p.scope.c.listsRepositories() && !p.request.anyMatch {
		p.limit = max(p.limit, minLooked)
	}
	p.enough = p.limit
	if p.ranked = p.rankedWords(); p.ranked != nil {
		p.limit = max(p.limit, maxOrderedMatches) // the documents are the bound
	} else {
		p.scope.rarity = rarityWeights(p.scope, p.segments)
	}
	p.schedule, p.needsSurvey = newSchedule(p.scope, p.segments, &p.request)
	if p.ranked != nil && !p.needsSurvey {
		p.schedule.segmentStates, p.needsSurvey = make([]segmentState, len(p.segments)), true
	}
}

// listsRegistered reports whether the answer lists repositories that are determined by
// the registered repositories alone. Such a search visits no segment.
func (p *searchPlan) listsRegistered() bool {
	c := p.scope.c
	return p.request.Query.Type == syntax.TypeRepo && c.listsRepositories() && len(c.atoms) == 0 && onlyRepositories(c)
}
