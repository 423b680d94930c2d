package web

import (
	"context"
	"net/url"
	"regexp"
	"strings"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/query/syntax"
)

// historyFilter matches the filters of a query about commits, which other search tools have. A
// query finds text, and the history of a repository has a page with such filters.
var historyFilter = regexp.MustCompile(`(?:^|\s)(type|author|committer|message|since|after|until|before):("[^"]*"|\S+)`)

// maxHistories bounds the histories to which a notice leads.
const maxHistories = 5

// historyNotice returns where commits are found, with the histories of the repositories of a
// query that has filters on commits.
func (s *Server) historyNotice(ctx context.Context, q *syntax.Parsed) (row noticeRow, ok bool) {
	filters := url.Values{}
	isDiff := false
	for _, m := range historyFilter.FindAllStringSubmatch(q.Text, -1) {
		key, value := m[1], strings.Trim(m[2], `"`)
		switch {
		case key == "type" && (value == "commit" || value == "diff"):
			ok, isDiff = true, isDiff || value == "diff"
		case key == "type":
			return row, false
		case key == "author" || key == "committer":
			filters.Set("author", value)
		case key == "message":
			filters.Set("q", value)
		case key == "since" || key == "after":
			filters.Set("since", value)
		default:
			filters.Set("until", value)
		}
	}
	if ok = ok || filters.Has("author") || filters.Has("q"); !ok && len(filters) > 0 {
		_, err := source.ParseMoment(filters.Get("since")+filters.Get("until"), s.o.Now(), false)
		ok = err == nil // after:the is text
	}
	if !ok {
		return row, false
	}
	if words := messageWords(q); words != "" && !filters.Has("q") && !isDiff {
		filters.Set("q", words)
	}
	row.Message = s.texts.mustFormat("historyWithout")
	for _, name := range s.namedRepositories(ctx, q) {
		row.Message = s.texts.mustFormat("historyOf")
		address := source.Address{Repository: name, Kind: source.PageCommits}.String()
		if len(filters) > 0 {
			address += "?" + filters.Encode()
		}
		row.Links = append(row.Links, facetLink{name, address})
	}
	return row, true
}

// messageWords returns the terms of a query besides its filters, as a filter of messages.
func messageWords(q *syntax.Parsed) string {
	rest, err := syntax.Parse(historyFilter.ReplaceAllString(q.Text, " "), q.Options)
	if err != nil {
		return "" // nothing is left
	}
	var words []string
	syntax.Walk(rest.Root, func(node syntax.Query) bool {
		if term, ok := node.(*syntax.Text); ok && !term.Regexp {
			words = append(words, term.Pattern)
		}
		_, isNot := node.(*syntax.Not)
		return !isNot
	})
	return strings.Join(words, " ")
}

// namedRepositories returns the first repositories that the filters of a query select; none for a
// query without such filters.
func (s *Server) namedRepositories(ctx context.Context, q *syntax.Parsed) (names []string) {
	parts, filters := []syntax.Query{q.Root}, &syntax.And{}
	if and, ok := q.Root.(*syntax.And); ok {
		parts = and.Children
	}
	for _, part := range parts {
		if syntax.SelectsRepositories(part) {
			filters.Children = append(filters.Children, part)
		}
	}
	if len(filters.Children) == 0 {
		return nil
	}
	named := &syntax.Parsed{Root: filters, Type: syntax.TypeRepo, Options: q.Options}
	err := s.o.Search.RunSearch(ctx, search.Request{Query: named, Matches: maxHistories, WithoutAdvice: true},
		func([]search.FileMatch, search.Stats) error { return nil },
		func(r *search.Result, _ string) error {
			for _, repository := range r.Repositories[:min(len(r.Repositories), maxHistories)] {
				names = append(names, repository.Name)
			}
			return nil
		})
	if err != nil {
		s.o.Logger.WarnContext(ctx, "repositories of a query unknown", "error", err)
	}
	return names
}
