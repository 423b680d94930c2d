package indexstatus

import (
	"context"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// maxSelecting bounds how many code hosts are asked for refs concurrently for
// registrations and refreshes. Above it, the response omits the selection.
const maxSelecting = 4

// Selector lists the refs of a repository at its code host and reports which of them its
// globs select.
type Selector struct {
	pipeline func() *Pipeline
	slots    chan struct{}
}

// NewSelector returns a Selector that lists refs through the mirrors of pipeline.
// pipeline may return nil.
func NewSelector(pipeline func() *Pipeline) *Selector {
	return &Selector{pipeline: pipeline, slots: make(chan struct{}, maxSelecting)}
}

// Select implements api.Options.SelectRefs. It returns the zero value in a process
// without mirrors, while maxSelecting other calls list refs, and if the host does not
// answer.
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
		return wire.RefSelection{} // the import reports the reason
	}
	return wireSelection(&state.Selection)
}

// refSelection returns which refs of a repository were selected at the last fetch of all
// refs, or the zero value if that is unknown.
func (p *Pipeline) refSelection(id code.RepositoryID) wire.RefSelection {
	s, ok := p.Mirrors.Mirror(id).Selection()
	if !ok || s.Branches == (mirror.Count{}) {
		return wire.RefSelection{}
	}
	return wireSelection(&s)
}

func wireSelection(s *mirror.Selection) wire.RefSelection {
	out := wire.RefSelection{
		Message: s.String(), Limit: s.Limit, LeftOut: s.LeftOut, Unsupported: s.Unsupported,
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
	for _, u := range s.UnsupportedRefs {
		out.UnsupportedRefs = append(out.UnsupportedRefs, wire.UnsupportedRef{Ref: u.Ref, Reason: u.Reason})
	}
	return out
}
