package engine

import (
	"strings"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/suite"
)

// ZoektRequest translates a query for zoekt, whose language it is in.
func ZoektRequest(q suite.Query) Request { return Request{Text: q.Text, Limit: q.Limit} }

// QuarryRequest translates a query for Quarry with zoekt's semantics: a term with capital
// letters is case-sensitive.
func QuarryRequest(q suite.Query) Request {
	text, form := q.Quarry()
	if form == suite.FormSearch && !strings.Contains(text, "case:") {
		text = "case:auto " + text
	}
	return Request{Text: text, Limit: q.Limit, Repositories: form == suite.FormRepositories}
}
