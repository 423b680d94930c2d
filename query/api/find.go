package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/quarrysearch/quarry/query/navigate"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// findFunc is Definitions or References of a Navigator.
type findFunc func(ctx context.Context, v search.View, r navigate.Request) (*navigate.Result, error)

func (s *Server) findDefinitions(r *http.Request) (*reply, error) {
	return s.findSymbols(r, s.navigator.Definitions)
}

func (s *Server) findReferences(r *http.Request) (*reply, error) {
	return s.findSymbols(r, s.navigator.References)
}

func (s *Server) findSymbols(r *http.Request, find findFunc) (*reply, error) {
	var in wire.FindSymbolsRequest
	if err := s.decodeBody(r, &in); err != nil {
		return nil, err
	}
	s.setAuditTarget(r, audit.TargetInstance, "", "symbol", in.SymbolName, "repo", in.RepoName)
	ctx, cancel := context.WithTimeout(r.Context(), s.o.SearchTimeout)
	defer cancel()
	view, err := s.openView(ctx)
	if err != nil {
		return nil, fmt.Errorf("find: %w", err)
	}
	defer view.Release()
	result, err := find(ctx, view, navigate.Request{
		Symbol: in.SymbolName, Language: in.Language, Revision: in.RevisionName, Repository: in.RepoName,
	})
	if err != nil {
		return nil, searchError(r, err)
	}
	return okReply(s.newFindResponse(result)), nil
}

// newFindResponse copies: the view may be released before it is written.
func (s *Server) newFindResponse(r *navigate.Result) *wire.FindSymbolsResponse {
	out := &wire.FindSymbolsResponse{
		Stats: wire.FindStats{MatchCount: r.Matches}, Files: make([]wire.FindFile, len(r.Files)), IsSearchExhaustive: r.Exhaustive,
		Notices: newNotices(r.Notices, nil),
	}
	repositories := repositoryInfos{server: s}
	for i := range r.Files {
		f := &r.Files[i]
		repositories.add(f.Repo)
		out.Files[i] = wire.FindFile{
			FileName: f.Path, Repository: f.Repo.Name, RepositoryID: s.numberOf(f.Repo.ID),
			WebURL: s.fileURL(f.Repo.Name, f.Ref, f.Path), Language: string(f.Language),
			Matches: make([]wire.FindMatch, len(f.Matches)),
		}
		for j, m := range f.Matches {
			out.Files[i].Matches[j] = wire.FindMatch{LineContent: string(m.Line), Range: textRange(m.Range)}
		}
	}
	out.RepositoryInfo = repositories.listInfos()
	return out
}
