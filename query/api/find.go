package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/navigate"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// findFunc is the method Definitions or References of a Navigator.
type findFunc func(ctx context.Context, v corpus.View, r navigate.Request) (*navigate.Result, error)

func (s *Server) findDefinitions(r *http.Request) (*reply, error) {
	return s.findSymbols(r, s.navigator.Definitions)
}

func (s *Server) findReferences(r *http.Request) (*reply, error) {
	return s.findSymbols(r, s.navigator.References)
}

func (s *Server) findImplementations(r *http.Request) (*reply, error) {
	return s.findSymbols(r, s.navigator.Implementations)
}

// describeSymbol returns what is known about the symbol at a position.
func (s *Server) describeSymbol(r *http.Request) (*reply, error) {
	var out *wire.Hover
	_, err := s.findSymbols(r, func(ctx context.Context, v corpus.View, request navigate.Request) (*navigate.Result, error) {
		found, err := s.navigator.Describe(ctx, v, request)
		if err != nil {
			return nil, err
		}
		out = &wire.Hover{Signature: found.Signature, Documentation: found.Documentation, Precise: found.Precise, Notices: newNotices(found.Notices, nil)}
		if f := found.Definition; f != nil {
			out.Definition = wire.HoverDefinition{
				Repository: f.Repo.Name, FileName: f.Path, WebURL: s.fileURL(f.Repo.Name, f.Ref, f.Path), LineNumber: f.Matches[0].Range.Start.LineNumber,
			}
		}
		return &navigate.Result{}, nil
	})
	if err != nil {
		return nil, err
	}
	return okReply(out), nil
}

func (s *Server) findSymbols(r *http.Request, find findFunc) (*reply, error) {
	var in wire.FindSymbolsRequest
	if err := s.decodeBody(r, &in); err != nil {
		return nil, err
	}
	front.ExchangeIn(r.Context()).SetAuditTarget(audit.TargetInstance, "", "symbol", in.SymbolName, "repo", in.RepoName)
	ctx, cancel := context.WithTimeout(r.Context(), s.o.SearchTimeout)
	defer cancel()
	view, coverage, err := s.openView(ctx)
	if err != nil {
		return nil, fmt.Errorf("find: %w", err)
	}
	defer view.Release()
	request := navigate.Request{
		Symbol: in.SymbolName, Language: in.Language, Revision: in.RevisionName, Repository: in.RepoName, IncludeText: in.IncludeText, IncludeEnclosing: in.IncludeEnclosing,
	}
	if p := in.Position; p.RepoName != "" {
		request.Position = &navigate.Position{Repository: p.RepoName, Revision: p.RevisionName, Path: p.Path, Line: p.LineNumber, Column: p.Column}
	}
	result, err := find(ctx, view, request)
	if err != nil {
		return nil, searchError(r, err)
	}
	result.Exhaustive = result.Exhaustive && s.showsAll(view, coverage)
	return okReply(s.newFindResponse(result)), nil
}

// newFindResponse copies the result: the view may be released before the response is
// written.
func (s *Server) newFindResponse(r *navigate.Result) *wire.FindSymbolsResponse {
	out := &wire.FindSymbolsResponse{
		Stats: wire.FindStats{MatchCount: r.Matches, TextMatchCount: r.TextMatches}, Files: make([]wire.FindFile, len(r.Files)), IsSearchExhaustive: r.Exhaustive,
		Notices: newNotices(r.Notices, nil),
	}
	repositories := repositoryInfos{server: s}
	room := maxFindLineBytes
	for i := range r.Files {
		f := &r.Files[i]
		matches := newFindMatches(f.Matches, &room)
		if len(matches) < len(f.Matches) {
			out.IsSearchExhaustive = false
		}
		if len(matches) == 0 && len(f.Matches) > 0 {
			out.Files = out.Files[:i]
			break
		}
		repositories.add(f.Repo)
		out.Files[i] = wire.FindFile{
			FileName: f.Path, Repository: f.Repo.Name, RepositoryID: s.numberOf(f.Repo.ID),
			WebURL: s.fileURL(f.Repo.Name, f.Ref, f.Path), Language: string(f.Language),
			Matches: matches,
		}
	}
	out.RepositoryInfo = repositories.listInfos()
	return out
}

// maxFindLineBytes bounds the lines of the matches of a response. Each match has its whole line, and
// a file of a megabyte may be one line with thousands of matches.
const maxFindLineBytes = 16 << 20

// newFindMatches returns those of the matches of a file whose lines have room.
func newFindMatches(matches []navigate.Match, room *int) []wire.FindMatch {
	out := make([]wire.FindMatch, 0, len(matches))
	for i := range matches {
		if *room -= len(matches[i].Line); *room < 0 {
			break
		}
		out = append(out, newFindMatch(&matches[i]))
	}
	return out
}

func newFindMatch(m *navigate.Match) wire.FindMatch {
	out := wire.FindMatch{
		LineContent: string(m.Line), Range: textRange(m.Range),
		Role: wire.FindMatchRole(m.Role), Relation: wire.FindMatchRelation(m.Relation), Precise: m.Precise,
	}
	if s := m.Symbol; s != nil {
		out.Symbol = wire.Symbol{Symbol: s.Name, Kind: string(s.Kind), Parent: wire.SymbolParent{Symbol: s.Parent, Kind: string(s.ParentKind)}}
	}
	if d := m.Definition; d != nil {
		out.Signature, out.Doc = d.Signature, d.Doc
	}
	if d := m.Enclosing; d != nil {
		out.Enclosing = wire.EnclosingSymbol{Name: d.Name, Kind: string(d.Kind), Parent: d.Parent, Line: int(d.Line), Column: int(d.Column)}
	}
	return out
}
