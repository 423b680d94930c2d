package api

import (
	"context"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// Submodules returns the submodules in a directory of a revision by path. The name of the
// other repository is filled in only if the context's principal may read it: .gitmodules
// may name any repository, and must not reveal whether it is registered here. Nothing is
// fetched, and nested submodules are not resolved.
func (s *Server) Submodules(ctx context.Context, r *code.Repository, revision, directory string) (map[string]source.Submodule, error) {
	found, err := s.o.Source.Submodules(ctx, r, revision, directory)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	visible := s.callerVisibility(ctx)
	names, out := map[string]string{"": ""}, make(map[string]source.Submodule, len(found))
	for _, m := range found {
		name, known := names[m.CloneURL]
		if !known {
			if other, err := s.o.Catalog.Find(ctx, code.Repository{CloneURL: m.CloneURL}); err == nil && visible.Sees(&other) && s.numberOf(other.ID) != 0 {
				name = other.Name
			}
			names[m.CloneURL] = name
		}
		m.Repository = name
		out[m.Path] = m
	}
	return out, nil
}

// listSubmodules returns Submodules for a listing, which is useful without them: it logs
// an error and omits the submodules.
func (s *Server) listSubmodules(ctx context.Context, r *code.Repository, revision, directory string) map[string]source.Submodule {
	found, err := s.Submodules(ctx, r, revision, directory)
	if err != nil {
		s.o.Logger.DebugContext(ctx, "reading submodules failed", "repository", r.Name, "error", err)
	}
	return found
}

// newSubmodule returns the submodule at a path; its zero value if there is none.
func (s *Server) newSubmodule(found map[string]source.Submodule, path string) wire.Submodule {
	m, ok := found[path]
	if !ok {
		return wire.Submodule{}
	}
	out := wire.Submodule{Commit: string(m.Commit), CloneURL: m.CloneURL, RepoName: m.Repository}
	if page := m.PageAddress(); page != "" {
		out.WebURL = s.o.PublicURL + page
	}
	return out
}
