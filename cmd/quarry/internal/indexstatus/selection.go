package indexstatus

import (
	"context"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// maxSelecting bounds the code hosts whose refs are listed concurrently for
// registrations and refreshes; beyond it the response leaves the selection out.
const maxSelecting = 4

// Selector says which refs the globs of a repository select, by a look at its code host.
type Selector struct {
	pipeline func() *Pipeline
	slots    chan struct{}
}

// NewSelector returns a Selector that lists refs by the mirrors of pipeline, which may
// return nil.
func NewSelector(pipeline func() *Pipeline) *Selector {
	return &Selector{pipeline: pipeline, slots: make(chan struct{}, maxSelecting)}
}

// Select implements api.Options.SelectRefs. It returns the zero value in a process without
// mirrors, while too many others list refs, and if the host does not answer.
func (x *Selector) Select(ctx context.Context, r code.Repository) wire.RefSelection {
	p := x.pipeline()
	if p == nil {
		return wire.RefSelection{}
	}
	select {
	case x.slots <- struct{}{}:
		defer func() { <-x.slots }()
	default:
		return wire.RefSelection{}
	}
	state, err := p.Mirrors.List(ctx, r)
	if err != nil || state.Default == "" {
		return wire.RefSelection{} // the import says why
	}
	return wireSelection(&state.Selection)
}

// refSelection returns which refs of a repository were selected when all were fetched
// last; its zero value if that is not known.
func (p *Pipeline) refSelection(id code.RepositoryID) wire.RefSelection {
	s, ok := p.Mirrors.Mirror(id).Selection()
	if !ok || s.Branches == (mirror.Count{}) {
		return wire.RefSelection{}
	}
	return wireSelection(&s)
}

func wireSelection(s *mirror.Selection) wire.RefSelection {
	out := wire.RefSelection{
		Message: s.String(), Limit: s.Limit, LeftOut: s.LeftOut,
		Branches: wire.RefCount{Selected: s.Branches.Selected, Total: s.Branches.Total},
	}
	if s.Tags != (mirror.Count{}) {
		out.Tags = wire.RefCount{Selected: s.Tags.Selected, Total: s.Tags.Total}
	}
	for _, u := range s.Unmatched {
		kind := wire.UnmatchedGlobKindBranch
		if u.Tag {
			kind = wire.UnmatchedGlobKindTag
		}
		out.Unmatched = append(out.Unmatched, wire.UnmatchedGlob{Glob: u.Glob, Kind: kind, Near: u.Near})
	}
	for _, ref := range s.LeftOutRefs {
		out.LeftOutRefs = append(out.LeftOutRefs, string(ref))
	}
	return out
}
