package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/indexing"
)

// RunSearch runs a search for a page, as POST /api/stream_search does. emit gets the
// files as they are found, and finish the result with the reason why it is incomplete, or
// empty. Both may get memory of the view, and must not keep it. The principal is that of
// the context, which Front sets for page requests.
func (s *Server) RunSearch(ctx context.Context, r search.Request, emit search.Emit, finish func(r *search.Result, incompleteReason string) error) error {
	matches := r.Matches
	r.Matches, r.Display = min(r.Matches, s.o.MaxMatches), min(r.Display, s.o.MaxMatches)
	r.Public, r.Related, r.NewView = s.isPublic, true, true
	limited, cancel := context.WithTimeout(ctx, s.o.SearchTimeout)
	defer cancel()
	view, coverage, err := s.openView(limited)
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	defer view.Release()
	result, err := s.o.Searcher.Stream(limited, view, r, emit)
	if err != nil {
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			return errTimedOut
		}
		return err
	}
	defer result.Release()
	reason := s.incompleteReason(&parsedSearch{Request: r, capped: matches > s.o.MaxMatches, coverage: coverage}, result)
	if reason != "" {
		s.metrics.limited.WithLabelValues(reason).Inc()
	}
	return finish(result, reason)
}

// SearchableRepositories returns the repositories that exist for the context's principal,
// ordered by name. The caller must not modify the slice.
func (s *Server) SearchableRepositories(ctx context.Context) ([]*corpus.Repository, error) {
	all, err := s.o.Catalog.Repositories(ctx)
	if err != nil {
		return nil, fmt.Errorf("list repositories: %w", err)
	}
	return s.listings.listFor(all, listKey{visible: s.callerVisibility(ctx), sort: "name"}), nil
}

// maxFreshnessRepositories bounds the repositories that one page checks.
const maxFreshnessRepositories = 10

// Freshness returns the freshness of the first of some repositories, which must exist for
// the caller. It omits those that were removed in the meantime.
func (s *Server) Freshness(ctx context.Context, repositories []code.RepositoryID) (out indexing.Summary, err error) {
	for _, id := range repositories[:min(len(repositories), maxFreshnessRepositories)] {
		st, err := s.o.Status.Status(ctx, id)
		if errors.Is(err, code.ErrNotFound) {
			continue
		}
		if err != nil {
			return out, fmt.Errorf("status: %w", err)
		}
		f := &st.Freshness
		out.Waiting, out.More = out.Waiting+f.Waiting, out.More || f.More
		if !f.OldestAt.IsZero() && (out.OldestAt.IsZero() || f.OldestAt.Before(out.OldestAt)) {
			out.OldestAt = f.OldestAt
		}
		if f.IndexedAt.After(out.IndexedAt) {
			out.IndexedAt = f.IndexedAt
		}
		if p := st.Progress; p != nil && out.Importing == "" && p.FilesTotal > 0 && len(st.Refs) == 0 {
			out.Importing, out.Files, out.FilesTotal = st.Repository.Name, p.Files, p.FilesTotal
		}
		if st.LastError != nil && out.Failed == "" {
			out.Failed = st.Repository.Name
		}
	}
	return out, nil
}

// AsOf returns the moment in the past that this server shows; empty for the present.
func (s *Server) AsOf() string { return s.o.AsOf() }
