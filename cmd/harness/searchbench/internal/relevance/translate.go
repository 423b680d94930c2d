package relevance

import (
	"regexp"
	"strings"
)

// Zoekt returns the query in zoekt's language. A term is a regular expression there, so
// it is escaped, and quoted so that no part of it is parsed as syntax. Filters are the
// same in both languages.
func (q *Query) Zoekt() string {
	var out []string
	for _, term := range splitTerms(q.Text) {
		if strings.HasPrefix(term, "file:") || strings.HasPrefix(term, "lang:") || strings.HasPrefix(term, "repo:") {
			out = append(out, term)
			continue
		}
		escaped := regexp.QuoteMeta(strings.Trim(term, `"`))
		escaped = strings.ReplaceAll(strings.ReplaceAll(escaped, `\`, `\\`), `"`, `\"`)
		out = append(out, `"`+escaped+`"`)
	}
	return strings.Join(out, " ")
}

// splitTerms splits text at blanks outside of quotes.
func splitTerms(text string) []string { return term.FindAllString(text, -1) }

var term = regexp.MustCompile(`"[^"]*"|\S+`)
