package web

import (
	"context"
	"net/url"
	"regexp"
	"slices"
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

// addHistoryNotice adds a notice of where commits are found to a query that has filters on commits,
// with the histories of the repositories that it selects. With these, other notices about the
// filters, which say that they find no text, are left out.
func (s *Server) addHistoryNotice(ctx context.Context, q *syntax.Parsed, state *resultState) {
	written, filters, ok := s.readHistoryFilters(q)
	if !ok {
		return
	}
	row := noticeRow{Message: s.texts.mustFormat("historyWithout")}
	for _, name := range s.namedRepositories(ctx, q) {
		row.Message = s.texts.mustFormat("historyOf")
		address := source.Address{Repository: name, Kind: source.PageCommits}.String()
		if len(filters) > 0 {
			address += "?" + filters.Encode()
		}
		row.Links = append(row.Links, facetLink{name, address})
	}
	if len(row.Links) > 0 {
		state.Notices = slices.DeleteFunc(state.Notices, func(n noticeRow) bool {
			return slices.ContainsFunc(written, func(filter string) bool { return strings.Contains(n.Message, filter) })
		})
	}
	state.Notices = append([]noticeRow{row}, state.Notices...)
}

// readHistoryFilters returns the filters of a query on commits, as they are written and as those of
// the page of a history; not ok if there are none.
func (s *Server) readHistoryFilters(q *syntax.Parsed) (written []string, filters url.Values, ok bool) {
	filters = url.Values{}
	isDiff, rest, at := false, "", 0
	for _, m := range historyFilter.FindAllStringSubmatchIndex(q.Text, -1) {
		if strings.Count(q.Text[:m[2]], `"`)%2 == 1 {
			continue // within a phrase
		}
		rest, at = rest+q.Text[at:m[0]]+" ", m[1]
		written = append(written, q.Text[m[2]:m[1]])
		key, value := q.Text[m[2]:m[3]], strings.Trim(q.Text[m[4]:m[5]], `"`)
		switch {
		case key == "type" && (value == "commit" || value == "diff"):
			ok, isDiff = true, isDiff || value == "diff"
		case key == "type":
			return nil, nil, false
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
	ok = ok || filters.Has("author") || filters.Has("q")
	for _, key := range []string{"since", "until"} {
		if _, err := source.ParseMoment(filters.Get(key), s.o.Now(), false); filters.Has(key) && err == nil {
			ok = true
		} else {
			filters.Del(key) // after:the is text
		}
	}
	if ok && !isDiff && !filters.Has("q") {
		if words := messageWords(rest+q.Text[at:], q.Options); words != "" {
			filters.Set("q", words)
		}
	}
	return written, filters, ok
}

// messageWords returns the terms of a query without filters on commits, as a filter of messages.
func messageWords(text string, o syntax.Options) string {
	rest, err := syntax.Parse(text, o)
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
