package assist

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/reading"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
)

// A qualified name such as Server.Serve means the definition of Serve in Server rather
// than the text. Such a term also finds the symbols with that name that Server contains,
// or that a file, folder or repository with the name Server defines.

const (
	// maxDefinitions bounds the definitions of a qualified name that are visited before
	// other files.
	maxDefinitions = 100
	// definedShare bounds the time to find them to a fraction of Options.MaxDuration:
	// 250 ms of 30 s.
	definedShare = 120
	// memberPoints are added to the score of a file that defines the name in the named
	// parent, besidePoints if only its line names the parent, and placedPoints if the file
	// is in a place with that name.
	memberPoints, besidePoints, placedPoints = 1000, 400, 500
)

// qualifiedQuery is a query whose only term is a qualified name.
type qualifiedQuery struct {
	term        syntax.Query
	definitions syntax.Query // the definitions that the name means
	points      map[string]float32
}

// readQualified returns the definitions that the only term of a query may mean, or nil.
func readQualified(r *search.Request) *qualifiedQuery {
	q := r.Query
	if r.WithoutAdvice || q.Options.Regexp || q.Type != syntax.TypeDefault || q.Select != syntax.SelectDefault {
		return nil
	}
	var terms []syntax.Query
	for _, operand := range syntax.Operands(q.Root) {
		if _, negated := operand.(*syntax.Not); !negated && hasPattern(operand) {
			terms = append(terms, operand)
		}
	}
	if len(terms) != 1 {
		return nil
	}
	written, letters := "", syntax.CaseNo
	switch term := terms[0].(type) {
	case *syntax.Text:
		if term.Regexp || len(term.Lines) > 0 || !isBare(q, term) {
			return nil
		}
		written, letters = term.Pattern, term.Case
	case *syntax.Symbol:
		if len(term.Kinds)+len(term.Lines) > 0 {
			return nil
		}
		written, letters = strings.ReplaceAll(term.Pattern, `\.`, "."), term.Case
	}
	name, ok := reading.ReadQualified(written)
	if !ok {
		return nil
	}
	member, beside, placed := name.Symbol(letters), name.Symbol(letters), name.Symbol(letters)
	member.Parent = name.Parent
	beside.Lines = []syntax.Line{{Pattern: `\b` + regexp.QuoteMeta(name.Parent) + `\b`, Case: letters}}
	points := map[string]float32{member.String(): memberPoints, beside.String(): besidePoints, placed.String(): placedPoints}
	definitions := &syntax.Or{Children: []syntax.Query{member, &syntax.And{Children: []syntax.Query{name.Place(), placed}}}}
	if name.Parent != name.Name { // each line with the name would have both
		definitions.Children = append(definitions.Children, beside)
	}
	if name.Outer != "" {
		outer := name.Symbol(letters)
		outer.Parent = name.Outer
		definitions.Children, points[outer.String()] = append(definitions.Children, outer), memberPoints
	}
	return &qualifiedQuery{term: terms[0], definitions: definitions, points: points}
}

// tryQualified answers a request with the definitions that its qualified name means and
// the matches of its text. It returns nil if there is no such definition.
func (a *answerer) tryQualified(ctx context.Context, r search.Request, n *qualifiedQuery, emit search.Emit) (*search.Result, error) {
	find := search.Request{
		Query: &syntax.Parsed{Root: syntax.Replace(r.Query.Root, n.term, n.definitions)}, Matches: maxDefinitions, Public: r.Public,
		LeafPoints: n.points, TimeLimit: a.shareOfTime(definedShare), WithoutAdvice: true,
	}
	defined, err := a.probe(ctx, find, nil)
	if err != nil {
		return nil, err
	}
	defer defined.Release()
	if len(defined.Files) == 0 {
		if defined.Stopped == search.StopTimeLimit {
			a.hurried, a.notice = true, &syntax.Notice{
				Code: syntax.AmbiguousQuery, At: n.term.Span(),
				Message: "There was no time to look for the definitions of this qualified name. Search again, or add a filter such as repo:.",
			}
		}
		return nil, nil
	}
	for i := range defined.Files {
		r.Documents = append(r.Documents, defined.Files[i].Document())
	}
	either := &syntax.Or{Children: append(slices.Clone(n.definitions.(*syntax.Or).Children), n.term)}
	literal := r.Query
	r.Query = &syntax.Parsed{Root: syntax.Replace(r.Query.Root, n.term, either), Text: r.Query.Text, Options: r.Query.Options}
	r.LeafPoints = n.points
	result, err := a.probe(ctx, r, emit)
	if err != nil {
		return nil, err
	}
	result.Notices = slices.DeleteFunc(result.Notices, func(n syntax.Notice) bool { return n.Filter != "" && n.At == syntax.Span{} }) // not written
	insertNotice(result, syntax.Notice{
		Code: syntax.AmbiguousQuery, At: n.term.Span(), Suggestions: []string{literal.PrintLiteral(literal.Options)},
		Message: "Definitions with this qualified name are found as well. To search only for the text, put it in quotes.",
	})
	return result, nil
}
