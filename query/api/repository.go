package api

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
)

// visibleRepository returns the repository with that full name, for every operation
// on its files and history. It is the one place that decides whether there is
// such a repository for the client: one that the client may not see has to look
// like one that does not exist. The error wraps code.ErrNotFound.
func (s *Server) visibleRepository(ctx context.Context, name string) (*code.Repository, error) {
	setTarget(ctx, audit.TargetRepository, name)
	if name == "" {
		return nil, fmt.Errorf("repository %q: %w", name, code.ErrNotFound)
	}
	r, err := s.o.Catalog.Find(ctx, code.Repository{Name: name})
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// repositoryOf reads the parameter repo.
func (s *Server) repositoryOf(ctx context.Context, p *params) (*code.Repository, error) {
	name := p.required("repo", code.MaxNameBytes)
	if p.err != nil {
		return nil, p.err
	}
	repository, err := s.visibleRepository(ctx, name)
	if path := p.values.Get("path"); path != "" {
		setTarget(ctx, audit.TargetFile, name+":"+path)
	}
	for _, about := range [...]string{"ref", "base", "head"} {
		exchangeIn(ctx).note(about, p.values.Get(about))
	}
	return repository, err
}
