package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// findFiles finds files by characters of their paths.
func (s *Server) findFiles(r *http.Request) (*reply, error) {
	p := queryParams(r)
	letters, repository, limit := p.textParam("query", search.MaxFileLetters), p.textParam("repo", code.MaxNameBytes), p.intParam("limit")
	if p.err == nil && strings.TrimSpace(letters) == "" {
		p.addErrorf("query: has no letters")
	}
	if p.err != nil {
		return nil, p.err
	}
	front.ExchangeIn(r.Context()).SetAuditTarget(audit.TargetInstance, "", "query", letters, "repo", repository)
	ctx, cancel := context.WithTimeout(r.Context(), s.o.SearchTimeout)
	defer cancel()
	view, coverage, err := s.openView(ctx)
	if err != nil {
		return nil, fmt.Errorf("find files: %w", err)
	}
	defer view.Release()
	found, err := s.o.FileFinder.FindFiles(ctx, view, search.FileRequest{Letters: letters, Repository: repository, Limit: limit})
	if err != nil {
		return nil, searchError(r, err)
	}
	out := &wire.FoundFiles{TotalCount: found.Total, IsExhaustive: s.showsAll(view, coverage), Files: make([]wire.FoundFile, len(found.Files))}
	for i, f := range found.Files {
		out.Files[i] = wire.FoundFile{
			Repository: f.Repo.Name, RepositoryID: s.numberOf(f.Repo.ID), Path: f.Path, Score: f.Score, Positions: f.Positions,
			WebURL: s.fileURL(f.Repo.Name, f.Repo.DefaultRef(), f.Path),
		}
	}
	return okReply(out), nil
}
