package assist

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
)

// maxExpressionFiles bounds the files that are counted for a term read as an expression.
const maxExpressionFiles = 100

// adviseExpressions adds a notice if a query finds something once its terms that have the
// shape of regular expressions, of words with a star or of exclusions in other search tools
// are read as such. It reports whether it does.
func (a *adviceFinder) adviseExpressions(ctx context.Context) bool {
	written := a.request.Query
	return a.adviseReading(ctx, written.ReadExpressions(), "as a regular expression") ||
		a.adviseReading(ctx, written.ReadWildcards(), "with a star for the rest of a word") ||
		a.adviseReading(ctx, written.ReadExclusions(), "with a minus, which excludes a term")
}

// adviseReading adds a notice if another reading of the query, which may be nil, finds
// something.
func (a *adviceFinder) adviseReading(ctx context.Context, q *syntax.Parsed, how string) bool {
	if q == nil {
		return false
	}
	count, one, many := &syntax.Parsed{Root: q.Root, Type: q.Type, Select: syntax.SelectFile}, "file matches", "files match"
	if q.Type == syntax.TypeRepo || q.Select == syntax.SelectRepo {
		count.Select, one, many = q.Select, "repository matches", "repositories match"
	}
	result, err := a.answerer.probe(ctx, search.Request{
		Query: count, Matches: maxExpressionFiles, Display: 1, Public: a.request.Public, WithoutAdvice: true,
	}, nil)
	if err != nil {
		return false // advice is not worth an error
	}
	defer result.Release()
	if result.Stats.Matches == 0 {
		return false
	}
	found := syntax.ShowCount(result.Stats.Matches, one, many)
	if !result.Exhaustive {
		found = "At least " + found
	}
	a.notices = append(a.notices, syntax.Notice{
		Code: syntax.AmbiguousQuery, At: spanOfTerms(a.request.Query), Suggestions: []string{q.Text},
		Message: fmt.Sprintf("Nothing is found as text. %s %s: %s", found, how, syntax.ShowFilter(q.Text)),
	})
	return true
}

// spanOfTerms returns the place of the first term of a query.
func spanOfTerms(q *syntax.Parsed) syntax.Span {
	for _, operand := range syntax.Operands(q.Root) {
		if hasPattern(operand) {
			return operand.Span()
		}
	}
	return q.Root.Span()
}

// slashedQuery returns the query with an expression between slashes, as other search tools
// write it, read as such; nil if the request has none.
func slashedQuery(r *search.Request) *syntax.Parsed {
	if r.Query.Options.Regexp || r.WithoutAdvice {
		return nil
	}
	return r.Query.ReadSlashed()
}

// trySlashed answers a request whose literal text has no match with its expression
// between slashes. It returns nil if the expression has no match either.
func (a *answerer) trySlashed(ctx context.Context, r search.Request, q *syntax.Parsed, emit search.Emit) (*search.Result, error) {
	other := r
	other.Query = &syntax.Parsed{Root: q.Root, Type: q.Type, Select: q.Select, Text: q.Text}
	result, err := a.searchReading(ctx, other, emit)
	if result == nil {
		return nil, err
	}
	insertNotice(result, syntax.Notice{
		Code: syntax.AmbiguousQuery, At: spanOfTerms(r.Query), Suggestions: []string{r.Query.PrintLiteral(r.Query.Options)},
		Message: fmt.Sprintf("Read as a regular expression, %s, because nothing contains the text with its slashes. "+
			"To search only for that text, put it in quotes.", syntax.ShowFilter(q.Text)),
	})
	return result, nil
}
