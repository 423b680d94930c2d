package api

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Only this file decides whether a repository exists for the caller: a repository that
// the caller may not see must look like one that does not exist, both in the response and
// in the work done to find out.

// visibleRepository returns the repository with that full name, for every operation on
// its files and history. If there are several, it returns the one with the lowest ID that
// the caller may see. The error wraps code.ErrNotFound.
func (s *Server) visibleRepository(ctx context.Context, name string) (*code.Repository, error) {
	front.ExchangeIn(ctx).SetAuditTarget(audit.TargetRepository, name)
	all, err := s.o.Catalog.Repositories(ctx)
	if err != nil {
		return nil, fmt.Errorf("find a repository: %w", err)
	}
	visible := s.callerVisibility(ctx)
	for _, r := range repositoriesNamed(all, name) {
		if name != "" && visible.Sees(&r.Repository) {
			return &r.Repository, nil
		}
	}
	return nil, fmt.Errorf("repository %q: %w", name, code.ErrNotFound)
}

// RepositoryNames returns the full names of the repositories that exist for the context's
// principal.
func (s *Server) RepositoryNames(ctx context.Context) (iter.Seq[string], error) {
	all, err := s.o.Catalog.Repositories(ctx)
	if err != nil {
		return nil, fmt.Errorf("list repositories: %w", err)
	}
	visible := s.callerVisibility(ctx)
	return func(yield func(string) bool) {
		for _, r := range all {
			if visible.Sees(&r.Repository) && s.numberOf(r.ID) != 0 && !yield(r.Name) {
				return
			}
		}
	}, nil
}

// visibleByID returns the registered repository of {repoId}.
func (s *Server) visibleByID(r *http.Request) (code.Repository, error) {
	number, err := repositoryNumber(r)
	if err != nil {
		return code.Repository{}, err
	}
	known, err := s.o.Catalog.Find(r.Context(), code.Repository{ID: s.repositoryWith(number)})
	if err == nil && (!s.callerVisibility(r.Context()).Sees(&known) || s.numberOf(known.ID) == 0) {
		err = code.ErrNotFound
	}
	if err != nil {
		return code.Repository{}, unknownRepository(r, err)
	}
	return known, nil
}

// unknownRepository returns an error that contains only what the request contained.
func unknownRepository(r *http.Request, err error) error {
	if failureOf(err).status == http.StatusNotFound {
		err = code.ErrNotFound
	}
	return fmt.Errorf("repository %s: %w", mux.Vars(r)["repoId"], err)
}

// repositoryOf returns the repository of the parameter repo.
func (s *Server) repositoryOf(ctx context.Context, p *params) (*code.Repository, error) {
	name := p.textParam("repo", code.MaxNameBytes)
	if p.err != nil {
		return nil, p.err
	}
	repository, err := s.visibleRepository(ctx, name)
	if path := p.values.Get("path"); path != "" {
		front.ExchangeIn(ctx).SetAuditTarget(audit.TargetFile, name+":"+path)
	}
	for _, about := range [...]string{"ref", "base", "head"} {
		front.ExchangeIn(ctx).AddMetadata(about, p.values.Get(about))
	}
	return repository, err
}

// openView returns a view of the index, limited to the repositories that exist for the
// caller, and what it covers of the log, which is read first: the view is never older.
func (s *Server) openView(ctx context.Context) (v corpus.View, covered Coverage, err error) {
	if views, ok := s.o.Views.(CoveredViews); ok {
		v, covered, err = views.CoveredView(ctx)
	} else {
		covered = s.o.Coverage()
		v, err = s.o.Views.View(ctx)
	}
	if err != nil {
		return nil, covered, err
	}
	if lacking, ok := v.(interface{ MissingDocuments() int }); ok {
		covered.Missing = lacking.MissingDocuments()
	}
	if visible := s.callerVisibility(ctx); !s.o.Screened && !visible.Everything() {
		v = s.o.Screen.Hide(v, visible, visible.Sees)
	}
	return v, covered, nil
}

// showsAll reports whether an answer from a view may be complete.
func (s *Server) showsAll(v corpus.View, c Coverage) bool {
	return s.findGap(c) == "" && len(search.LostPartitions(v)) == 0
}

// isPublic implements visibility:public: internal repositories are not public.
func (s *Server) isPublic(r *code.Repository) bool { return s.o.Gate.Visibility(r) == account.Public }
