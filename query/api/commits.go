package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

// defaultCommits is the length of a page of commits or authors.
const defaultCommits = 50

type commitItem struct {
	Hash        code.CommitID `json:"hash"`
	Date        string        `json:"date"`
	Message     string        `json:"message"`
	Refs        string        `json:"refs"`
	Body        string        `json:"body"`
	AuthorName  string        `json:"authorName"`
	AuthorEmail string        `json:"authorEmail"`
}

type commitResponse struct {
	commitItem
	Parents []code.CommitID `json:"parents"`
}

type authorItem struct {
	Name        string `json:"name"`
	Email       string `json:"email"`
	CommitCount int    `json:"commitCount"`
}

func newCommitItem(c source.Commit) commitItem {
	return commitItem{c.ID, c.Date, c.Subject, c.Refs, c.Body, c.AuthorName, c.AuthorEmail}
}

func (s *Server) commits(r *http.Request) (*reply, error) {
	p := queryParams(r)
	window := p.pageOf(defaultCommits)
	q := source.CommitsRequest{Revision: p.text("ref", maxPathParameter)}
	q.Message, q.Author = p.text("query", source.MaxPatternBytes), p.text("author", source.MaxPatternBytes)
	q.Path = p.directory("path")
	q.Since, q.Until = p.moment("since", s.o.Now(), false), p.moment("until", s.o.Now(), true)
	q.Follow = p.oneOf("follow", "false", "true") == "true"
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
	items := make([]commitItem, len(commits))
	for i, c := range commits {
		items[i] = newCommitItem(c)
	}
	out := ok(items)
	out.header = window.header("/api/commits", total, p, "repo", "query", "since", "until", "author", "ref", "path", "follow")
	return out, nil
}

func (s *Server) commit(r *http.Request) (*reply, error) {
	p := queryParams(r)
	ref := p.required("ref", maxPathParameter)
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
	return ok(&commitResponse{newCommitItem(c), append([]code.CommitID{}, c.Parents...)}), nil
}

func (s *Server) commitAuthors(r *http.Request) (*reply, error) {
	p := queryParams(r)
	window := p.pageOf(defaultCommits)
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
	items := make([]authorItem, to-from)
	for i, a := range authors[from:to] {
		items[i] = authorItem{a.Name, a.Email, a.Commits}
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
