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

func newCommit(c source.Commit) wire.Commit {
	return wire.Commit{
		Hash: string(c.ID), Date: c.Date, Message: c.Subject, Refs: c.Refs, Body: c.Body, AuthorName: c.AuthorName, AuthorEmail: c.AuthorEmail,
	}
}

func (s *Server) commits(r *http.Request) (*reply, error) {
	p := queryParams(r)
	window := p.page()
	q := source.CommitsRequest{Revision: p.text("ref", maxPathParameter)}
	q.Message, q.Author = p.text("query", source.MaxPatternBytes), p.text("author", source.MaxPatternBytes)
	q.Path = p.directory("path")
	q.Since, q.Until = p.moment("since", s.o.Now(), false), p.moment("until", s.o.Now(), true)
	q.Follow = p.flag("follow")
	q.FirstLine, q.LastLine = p.lines("lines")
	q.Skip, q.Limit = min(window.offset(), source.MaxSkippedCommits), window.perPage
	if q.Since != 0 && q.Until != 0 && q.Since > q.Until {
		p.failf("since: want a time before until")
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
		items[i] = newCommit(c)
	}
	out := ok(items)
	out.header = window.header("/api/commits", total, p, "repo", "query", "since", "until", "author", "ref", "path", "follow", "lines")
	return out, nil
}

// lines reads a parameter that is a line or a range of lines: "12", "12-15".
func (p *params) lines(name string) (first, last int) {
	text := p.word(name)
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
		p.failf("%s: want a line or a range of lines such as 12-15, have %.40q", name, text)
		return 0, 0
	}
	return first, last
}

func (s *Server) commit(r *http.Request) (*reply, error) {
	p := queryParams(r)
	ref := p.text("ref", maxPathParameter)
	repository, err := s.repositoryOf(r.Context(), p)
	if err != nil {
		return nil, err
	}
	if ref == "" {
		return nil, fmt.Errorf("%w: ref is empty", source.ErrInvalidRevision)
	}
	c, err := s.o.Source.Commit(r.Context(), repository, ref)
	if errors.Is(err, source.ErrNoRevision) {
		// Here the commit is what is asked for, not where to look.
		return nil, fmt.Errorf("commit %.200q of %s: %w", ref, repository.Name, code.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return ok(newCommitDetail(c)), nil
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
	window := p.page()
	ref, path := p.text("ref", maxPathParameter), p.directory("path")
	repository, err := s.repositoryOf(r.Context(), p)
	if err != nil {
		return nil, err
	}
	authors, err := s.o.Source.Authors(r.Context(), repository, ref, path)
	if err != nil {
		return nil, err
	}
	from, to := window.of(len(authors))
	items := make([]wire.CommitAuthor, to-from)
	for i, a := range authors[from:to] {
		items[i] = wire.CommitAuthor{Name: a.Name, Email: a.Email, CommitCount: a.Commits}
	}
	out := ok(items)
	out.header = window.header("/api/commits/authors", len(authors), p, "repo", "ref", "path")
	return out, nil
}

// directory returns the path of a file or directory, with or without slashes
// around it; empty if it is absent.
func (p *params) directory(name string) string {
	path := strings.TrimSuffix(strings.TrimPrefix(p.text(name, maxPathParameter), "/"), "/")
	if path == "" {
		return ""
	}
	if err := code.ValidatePath(path); err != nil {
		p.failf("%s: %v", name, err)
	}
	return path
}
