package api

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

func (s *Server) listCommits(r *http.Request) (*reply, error) {
	p := queryParams(r)
	window := p.pageParam()
	q := source.CommitsRequest{Revision: p.textParam("ref", maxPathParameter)}
	q.Message, q.Author = p.textParam("query", source.MaxPatternBytes), p.textParam("author", source.MaxPatternBytes)
	q.Path = p.directoryParam("path")
	q.Since, q.Until = p.momentParam("since", s.o.Now(), false), p.momentParam("until", s.o.Now(), true)
	q.Follow = p.boolParam("follow")
	q.FirstLine, q.LastLine = p.lineRangeParam("lines")
	q.Skip, q.Limit = min(window.itemOffset(), source.MaxSkippedCommits), window.perPage
	if q.Since != 0 && q.Until != 0 && q.Since > q.Until {
		p.addErrorf("since: want a time before until")
	}
	repository, err := s.repositoryOf(r.Context(), p)
	if err != nil {
		return nil, err
	}
	commits, total, err := s.o.Source.Commits(r.Context(), repository, q)
	if err != nil {
		return nil, err
	}
	items := make([]wire.Commit, len(commits))
	for i, c := range commits {
		items[i] = wire.Commit{
			Hash: string(c.ID), Date: c.Date, Message: c.Subject, Refs: c.Refs, Body: c.Body, AuthorName: c.AuthorName, AuthorEmail: c.AuthorEmail,
		}
	}
	out := okReply(items)
	out.header = window.pageHeader("/api/commits", total, p, "repo", "query", "since", "until", "author", "ref", "path", "follow", "lines")
	return out, nil
}

// lineRangeParam reads a parameter that is a line or a range of lines: "12", "12-15".
func (p *params) lineRangeParam(name string) (first, last int) {
	text := p.wordParam(name)
	if text == "" {
		return 0, 0
	}
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	var errs [2]error
	first, errs[0] = strconv.Atoi(from)
	last, errs[1] = strconv.Atoi(to)
	if errors.Join(errs[:]...) != nil || first < 1 || last < first {
		p.addErrorf("%s: want a line or a range of lines such as 12-15, have %.40q", name, text)
		return 0, 0
	}
	return first, last
}

func (s *Server) showCommit(r *http.Request) (*reply, error) {
	p := queryParams(r)
	ref := p.textParam("ref", maxPathParameter)
	repository, err := s.repositoryOf(r.Context(), p)
	if err != nil {
		return nil, err
	}
	if ref == "" {
		return nil, fmt.Errorf("%w: ref is empty", source.ErrInvalidRevision)
	}
	c, err := s.o.Source.Commit(r.Context(), repository, ref)
	if errors.Is(err, source.ErrNoRevision) {
		// Here the commit is the object of the request, not a revision to read from.
		return nil, fmt.Errorf("commit %.200q of %s: %w", ref, repository.Name, code.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return okReply(newCommitDetail(c)), nil
}

func newCommitDetail(c source.Commit) *wire.CommitDetail {
	out := &wire.CommitDetail{
		Hash: string(c.ID), Date: c.Date, Message: c.Subject, Refs: c.Refs, Body: c.Body, AuthorName: c.AuthorName, AuthorEmail: c.AuthorEmail,
		Parents: make([]string, len(c.Parents)),
	}
	for i, id := range c.Parents {
		out.Parents[i] = string(id)
	}
	return out
}

func (s *Server) commitAuthors(r *http.Request) (*reply, error) {
	p := queryParams(r)
	window := p.pageParam()
	ref, path := p.textParam("ref", maxPathParameter), p.directoryParam("path")
	repository, err := s.repositoryOf(r.Context(), p)
	if err != nil {
		return nil, err
	}
	authors, err := s.o.Source.Authors(r.Context(), repository, ref, path)
	if err != nil {
		return nil, err
	}
	from, to := window.itemRange(len(authors))
	items := make([]wire.CommitAuthor, to-from)
	for i, a := range authors[from:to] {
		items[i] = wire.CommitAuthor{Name: a.Name, Email: a.Email, CommitCount: a.Commits}
	}
	out := okReply(items)
	out.header = window.pageHeader("/api/commits/authors", len(authors), p, "repo", "ref", "path")
	return out, nil
}

// directoryParam returns the path of a file or directory, with or without slashes around
// it; empty if it is absent.
func (p *params) directoryParam(name string) string {
	path := strings.TrimSuffix(strings.TrimPrefix(p.textParam(name, maxPathParameter), "/"), "/")
	if path == "" {
		return ""
	}
	if err := code.ValidatePath(path); err != nil {
		p.addErrorf("%s: %v", name, err)
	}
	return path
}
