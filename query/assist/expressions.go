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
	if err != nil && ctx.Err() == nil {
		return false // advice is not worth an error
	}
	found := "There was no time to count what matches"
	if err == nil {
		defer result.Release()
		switch {
		case result.Stats.Matches == 0 && result.Exhaustive:
			return false
		case result.Stats.Matches > 0:
			if found = syntax.ShowCount(result.Stats.Matches, one, many); !result.Exhaustive {
				found = "At least " + found
			}
		}
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

// foreignReading is a query in the syntax of other search tools, read as such.
type foreignReading struct {
	query *syntax.Parsed
	// description names it in the notice, and literal what no text contains.
	description, literal string
}

// readForeign returns the reading of a query with an expression between slashes, or of two
// words that are wanted close together; nil if the request has neither.
func readForeign(r *search.Request) *foreignReading {
	if r.Query.Options.Regexp || r.WithoutAdvice {
		return nil
	}
	if q := r.Query.ReadSlashed(); q != nil {
		return &foreignReading{q, "a regular expression", "the text with its slashes"}
	}
	if q, between := r.Query.ReadNear(); q != nil {
		return &foreignReading{q, "two words on one line with at most " + syntax.ShowCount(between, "word", "words") + " between them", "all of the terms"}
	}
	return nil
}

// tryForeign answers a request whose literal text has no match with its reading in the
// syntax of other search tools. It returns nil if that has no match either.
func (a *answerer) tryForeign(ctx context.Context, r search.Request, f *foreignReading, emit search.Emit) (*search.Result, error) {
	other, q := r, f.query
	other.Query = &syntax.Parsed{Root: q.Root, Type: q.Type, Select: q.Select, Text: q.Text}
	result, err := a.searchReading(ctx, other, emit)
	if result == nil {
		return nil, err
	}
	insertNotice(result, syntax.Notice{
		Code: syntax.AmbiguousQuery, At: spanOfTerms(r.Query), Suggestions: []string{r.Query.PrintLiteral(r.Query.Options)},
		Message: fmt.Sprintf("Read as %s, %s, because nothing contains %s. To search only for that text, put it in quotes.",
			f.description, syntax.ShowFilter(q.Text), f.literal),
	})
	return result, nil
}
