package server

import (
	"context"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// maxSelecting bounds the code hosts whose refs are listed concurrently for
// registrations and refreshes; beyond it the response leaves the selection out.
const maxSelecting = 4

// selectRefs returns what api.Options.SelectRefs wants; nil in a process without
// mirrors.
func (s *Server) selectRefs() func(context.Context, code.Repository) wire.RefSelection {
	if s.pipeline == nil {
		return nil
	}
	mirrors, slots := s.pipeline.mirrors, make(chan struct{}, maxSelecting)
	return func(ctx context.Context, r code.Repository) wire.RefSelection {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			return wire.RefSelection{}
		}
		state, err := mirrors.List(ctx, r)
		if err != nil || state.Default == "" {
			return wire.RefSelection{} // the import says why
		}
		return wireSelection(&state.Selection)
	}
}

// refSelection returns which refs of a repository were selected when all were fetched
// last; nil if that is not known.
func (p *pipeline) refSelection(id code.RepositoryID) *wire.RefSelection {
	s, ok := p.mirrors.Mirror(id).Selection()
	if !ok || s.Branches == (mirror.Count{}) {
		return nil
	}
	out := wireSelection(&s)
	return &out
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
