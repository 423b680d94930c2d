package assist

import (
	"context"
	"strings"

	"github.com/quarrysearch/quarry/query/reading"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
)

// readProse returns the words of a query of plain words, or nil.
func readProse(r *search.Request) *reading.Prose {
	if r.WithoutAdvice || r.Query.Options.Regexp {
		return nil
	}
	return reading.ReadProse(r.Query)
}

// maxPoorFiles is the maximum number of files of an answer that is worth less than the
// files with most of its words.
const maxPoorFiles = 20

// isPoor reports whether a result is worth less than the files with most of the words of
// the query: it has no match, or a few files that are a changelog and other prose, which
// say that something changed but not where, or in which the words of a sentence are more
// than three lines apart.
func isPoor(r *search.Result, p *reading.Prose) bool {
	if r.Stats.Matches == 0 {
		return r.Exhaustive && !explainsNothing(r.Notices)
	}
	e := &r.Evidence
	isFar := p.Sentence && !e.CloseTerms
	return e.Shown <= maxPoorFiles && (isFar || e.InChangelog && !e.InCode) && r.Stopped != search.StopTimeLimit
}

// withAnyWord returns a request for the files with most of the words of a query.
func withAnyWord(r search.Request, p *reading.Prose) search.Request {
	either := &syntax.Or{}
	r.Ranked = nil
	for i := range p.Words {
		w := &p.Words[i]
		term := &syntax.Text{Pattern: w.Stem, Case: syntax.CaseNo}
		if expression := w.Expression(); expression != "" {
			term.Pattern, term.Regexp = expression, true
		}
		either.Children = append(either.Children, term)
		r.Ranked = append(r.Ranked, w.Stem)
	}
	root := &syntax.And{Children: append(p.Filters[:len(p.Filters):len(p.Filters)], either)}
	r.Query = &syntax.Parsed{Root: root, Text: r.Query.Text, Options: r.Query.Options}
	return r
}

// tryProse answers a request with the files that have most of its words. It returns nil
// if no file has any.
func (a *answerer) tryProse(ctx context.Context, r search.Request, p *reading.Prose, emit search.Emit) (*search.Result, error) {
	result, err := a.searchReading(ctx, withAnyWord(r, p), emit)
	if result == nil {
		return nil, err
	}
	var written []string
	for _, w := range p.Words {
		written = append(written, w.Written)
	}
	insertNotice(result, syntax.Notice{
		Code: syntax.PastedText, At: p.At, Suggestions: []string{r.Query.PrintLiteral(r.Query.Options)},
		Message: "No file, except for prose, has all of these words close together. The files with most of them follow: " + strings.Join(written, ", ") + ".",
	})
	return result, nil
}
