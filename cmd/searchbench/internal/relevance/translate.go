package relevance

import (
	"regexp"
	"strings"
)

// Zoekt returns the query in zoekt's language: a term there is a regular
// expression, so its characters are escaped, and it is quoted, so that none is
// taken for syntax. Filters are the same in both.
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

// splitTerms splits at blanks outside quotes.
func splitTerms(text string) []string { return term.FindAllString(text, -1) }

var term = regexp.MustCompile(`"[^"]*"|\S+`)
