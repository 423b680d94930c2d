package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/quarrysearch/quarry/query/navigate"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// findRequest is the body of POST /api/find_definitions and find_references.
type findRequest struct {
	SymbolName   *string `json:"symbolName"`
	Language     string  `json:"language"`
	RevisionName string  `json:"revisionName"`
	RepoName     string  `json:"repoName"`
}

type findResponse struct {
	Stats          findStats        `json:"stats"`
	Files          []findFile       `json:"files"`
	RepositoryInfo []repositoryInfo `json:"repositoryInfo"`
	// Exhaustive is an addition.
	Exhaustive bool `json:"isSearchExhaustive"`
}

type findStats struct {
	MatchCount int `json:"matchCount"`
}

type findFile struct {
	FileName     string      `json:"fileName"`
	Repository   string      `json:"repository"`
	RepositoryID uint64      `json:"repositoryId"`
	WebURL       string      `json:"webUrl"`
	Language     string      `json:"language"`
	Matches      []findMatch `json:"matches"`
}

type findMatch struct {
	LineContent string    `json:"lineContent"`
	Range       textRange `json:"range"`
}

// find is Definitions or References of a Navigator.
type find func(ctx context.Context, v search.View, r navigate.Request) (*navigate.Result, error)

func (s *Server) findDefinitions(r *http.Request) (*reply, error) {
	return s.find(r, s.navigator.Definitions)
}

func (s *Server) findReferences(r *http.Request) (*reply, error) {
	return s.find(r, s.navigator.References)
}

func (s *Server) find(r *http.Request, find find) (*reply, error) {
	var in findRequest
	if err := s.decodeBody(r, &in); err != nil {
		return nil, err
	}
	if in.SymbolName == nil {
		return nil, fmt.Errorf("%w: symbolName is required", errBody)
	}
	s.target(r, audit.TargetInstance, "", "symbol", *in.SymbolName, "repo", in.RepoName)
	ctx, cancel := context.WithTimeout(r.Context(), s.o.SearchTimeout)
	defer cancel()
	view, err := s.view(ctx)
	if err != nil {
		return nil, fmt.Errorf("find: %w", err)
	}
	defer view.Release()
	result, err := find(ctx, view, navigate.Request{
		Symbol: *in.SymbolName, Language: in.Language, Revision: in.RevisionName, Repository: in.RepoName,
	})
	if err != nil {
		return nil, searchError(r, err)
	}
	return ok(s.newFindResponse(result)), nil
}

// newFindResponse copies: the view may be released before it is written.
func (s *Server) newFindResponse(r *navigate.Result) *findResponse {
	out := &findResponse{Stats: findStats{r.Matches}, Files: make([]findFile, len(r.Files)), Exhaustive: r.Exhaustive}
	var repositories repositories
	for i := range r.Files {
		f := &r.Files[i]
		repositories.add(f.Repo)
		out.Files[i] = findFile{
			FileName: f.Path, Repository: f.Repo.Name, RepositoryID: uint64(f.Repo.ID),
			WebURL: s.fileURL(f.Repo.Name, f.Ref, f.Path), Language: string(f.Language),
			Matches: make([]findMatch, len(f.Matches)),
		}
		for j, m := range f.Matches {
			out.Files[i].Matches[j] = findMatch{string(m.Line), textRange{location(m.Range.Start), location(m.Range.End)}}
		}
	}
	out.RepositoryInfo = repositories.infos()
	return out
}
