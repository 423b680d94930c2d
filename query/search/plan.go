package search

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/query/syntax"
)

// A searchPlan says what a search looks for, where, and in which order. It is made before
// anything is searched; a survey of the index may only refine its schedule.
type searchPlan struct {
	request Request
	scope   *scope // the compiled query, on the repositories and refs of the view
	// segments are those of the view, with the places on the refs that the query is about.
	segments []Segment
	// display is the number of matches to show, limit that of matches to look at: more than
	// requested, if those are few, to choose the best.
	display, limit int
	schedule       *schedule
	needsSurvey    bool // of the index before the first task, to put the tasks in order
}

// planSearch compiles the query of a request, and opens the places of the view that it is
// about.
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

// orderTasks bounds what is looked at and shown, and puts the tasks in order. At most so
// many matches fit into the answer.
func (p *searchPlan) orderTasks(maxDisplay int) {
	p.display = min(p.request.displayLimit(), maxDisplay) // more is not held
	if p.limit = p.request.Matches; !p.scope.c.listsRepositories() {
		p.limit = max(p.limit, minLooked)
	}
	p.scope.rarity = rarityWeights(p.scope, p.segments)
	p.schedule, p.needsSurvey = newSchedule(p.scope, p.segments, &p.request)
}

// listsRegistered reports whether the answer are repositories that follow from what is
// registered alone: no segment is searched for them.
func (p *searchPlan) listsRegistered() bool {
	c := p.scope.c
	return p.request.Query.Type == syntax.TypeRepo && c.listsRepositories() && len(c.atoms) == 0 && onlyRepositories(c)
}
