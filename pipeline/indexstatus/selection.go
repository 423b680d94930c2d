package indexstatus

import (
	"context"
	"errors"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// maxSelecting bounds how many code hosts are asked for refs concurrently for
// registrations and refreshes. Above it, a request waits.
const maxSelecting = 4

// Selector lists the refs of a repository at its code host and reports which of them its
// globs select.
type Selector struct {
	pipeline func() *Pipeline
	admit    func(context.Context, code.Repository) error
	slots    chan struct{}
}

// NewSelector returns a Selector that lists refs through the mirrors of pipeline, of
// repositories that admit accepts. pipeline may return nil.
func NewSelector(pipeline func() *Pipeline, admit func(context.Context, code.Repository) error) *Selector {
	return &Selector{pipeline: pipeline, admit: admit, slots: make(chan struct{}, maxSelecting)}
}

// Select returns which refs of a repository its globs select at the code host.
func (x *Selector) Select(ctx context.Context, r code.Repository) (wire.RefSelection, error) {
	p := x.pipeline()
	if p == nil {
		return wire.RefSelection{}, nil
	}
	if err := x.admit(ctx, r); err != nil {
		return wire.RefSelection{}, err
	}
	select {
	case x.slots <- struct{}{}:
		defer func() { <-x.slots }()
	case <-ctx.Done():
		return wire.RefSelection{}, ctx.Err()
	}
	state, err := p.Mirrors.List(ctx, r)
	switch {
	case ctx.Err() != nil:
		return wire.RefSelection{}, ctx.Err()
	case err != nil:
		return wire.RefSelection{}, errors.Unwrap(err) // without the ID of a mirror that may not exist
	case state.Default == "" || len(r.Branches)+len(r.Tags) == 0:
		return wire.RefSelection{}, nil
	}
	return wireSelection(&state.Selection), nil
}

// refSelection returns which refs of a repository were selected at the last fetch of all
// refs, or the zero value if that is unknown. empty means that the fetch found no commit.
func (p *Pipeline) refSelection(id code.RepositoryID) (selected wire.RefSelection, empty bool) {
	s, ok := p.Mirrors.Mirror(id).Selection()
	if !ok || s.Branches == (mirror.Count{}) {
		return wire.RefSelection{}, ok && s.Tags == (mirror.Count{})
	}
	return wireSelection(&s), false
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
