package mcp

import (
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/syntax"
)

// filterKey returns the keyword of the filter that a notice refers to.
func filterKey(n syntax.Notice) string {
	key, _, _ := strings.Cut(n.Filter, ":")
	return key
}

// writeNotices writes each notice as a line. The name of an argument replaces the filter
// that was built from it.
func (c *call) writeNotices(notices []syntax.Notice, argumentOf func(n syntax.Notice) string) {
	for _, n := range notices {
		message := n.Message
		_, after, found := strings.Cut(message, n.Filter+" selects ")
		if argument := argumentOf(n); argument != "" && found {
			message = argument + " selects " + after
		}
		c.out.addLineIfFits(message)
	}
}

// argumentOf returns the argument of grep or glob from which a filter was built.
func (q *fileQuery) argumentOf(n syntax.Notice) string {
	switch {
	case q.text != nil:
		return "" // a filter of the query text
	case filterKey(n) != "file":
		return symbolArgumentOf(n)
	case n.Filter == (&syntax.File{Pattern: q.glob, Case: syntax.CaseNo}).String():
		return q.globArgument
	}
	return "path"
}

// symbolArgumentOf returns the argument of the symbol tools from which a filter was
// built.
func symbolArgumentOf(n syntax.Notice) string {
	return map[string]string{"rev": "ref", "reposet": "repo", "lang": "language"}[filterKey(n)]
}

// completeNotices returns the notices of the result and, for a query in the query
// language, those of its text. Each of the latter names the query to send instead.
func (q *fileQuery) completeNotices(found []syntax.Notice) []syntax.Notice {
	if q.text == nil {
		return found
	}
	out := slices.Clone(found)
	for _, n := range q.text.Notices {
		if n.Code != syntax.DifferentMeaning { // useful only to clients of the established server
			out = append(out, n)
		}
	}
	for i, n := range out {
		if len(n.Queries) > 0 && n.Queries[0] != "" && n.Queries[0] != n.Suggestions[0] && n.Code != syntax.RelatedMatches {
			out[i].Message += " Search for: " + n.Queries[0]
		}
	}
	return out
}
