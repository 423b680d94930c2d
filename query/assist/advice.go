package assist

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/internal/identifier"
	"github.com/quarrysearch/quarry/query/plan"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
)

// A search without a match names its terms that have no match, and names near them: the
// same name in another style, then symbols and identifiers with few typing errors. Advice
// uses only text that the caller may read. A search with a match does none of this work.

// Bounds of advice.
const (
	// maxAdvisedTerms bounds the terms that get advice, maxTriedNames the near names
	// tried for each of them.
	maxAdvisedTerms = 4
	maxTriedNames   = 8
	// adviceShare bounds the time for advice to a fraction of Options.MaxDuration: 500 ms
	// of 30 s.
	adviceShare = 60
	// maxAdvisedBytes is the maximum length of a name that is searched for in other
	// styles.
	maxAdvisedBytes = 200
	// minNearBytes is the minimum length of a name that has near names: a shorter name is
	// near half of all names.
	minNearBytes = 4
)

// adviceFinder finds advice about the terms of a search without a match.
type adviceFinder struct {
	answerer *answerer
	request  search.Request
	filters  []syntax.Query // conditions on files that all matches meet
	names    *search.NameSearch
	notices  []syntax.Notice
	// suggested holds the queries with other names that find something.
	suggested []suggestedQuery
}

// addAdvice adds advice about the terms of a request to its result, and the related files
// if the request asks for them.
func (a *answerer) addAdvice(ctx context.Context, r search.Request, result *search.Result) {
	if r.WithoutAdvice || r.Brief {
		return
	}
	var advised []suggestedQuery
	if wantsAdvice(result) {
		f := a.findAdvice(ctx, r)
		result.Notices = mergeAdvice(result.Notices, f.notices)
		advised = f.suggested
	} else if result.Stats.Matches == 0 && result.Exhaustive && r.Query.Type != syntax.TypeDefault {
		// The notice says that the name selects nothing; as an expression it may.
		f := &adviceFinder{answerer: a, request: r}
		within, cancel := context.WithTimeout(ctx, a.shareOfTime(adviceShare))
		f.adviseExpressions(within)
		cancel()
		result.Notices = mergeAdvice(result.Notices, f.notices)
	}
	if r.Related {
		a.addRelated(ctx, r, result, advised)
	}
	result.DropUnknownNotices(a.view)
}

// wantsAdvice reports whether a search found nothing and no notice explains why.
func wantsAdvice(r *search.Result) bool {
	return r.Stats.Matches == 0 && r.Exhaustive && !explainsNothing(r.Notices)
}

// findAdvice finds advice about the terms of a request that found nothing.
func (a *answerer) findAdvice(ctx context.Context, r search.Request) *adviceFinder {
	f := &adviceFinder{answerer: a, request: r}
	operands := syntax.Operands(r.Query.Root)
	var terms []syntax.Query
	for _, q := range operands {
		if _, isCondition := q.(*syntax.FileHas); isCondition || hasPattern(q) {
			terms = append(terms, patternsOf(q)...)
		} else {
			f.filters = append(f.filters, q)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, a.shareOfTime(adviceShare))
	defer cancel()
	if f.adviseExpressions(ctx) {
		return f
	}
	var filters *syntax.Parsed
	if len(f.filters) > 0 {
		filters = &syntax.Parsed{Root: &syntax.And{Children: f.filters}}
	}
	f.names = a.engine.NewNameSearch(a.view, filters, r.Public)
	for _, leaf := range terms[:min(len(terms), maxAdvisedTerms)] {
		if ctx.Err() != nil {
			break
		}
		_, isCondition := leaf.(*syntax.FileHas)
		f.adviseTerm(ctx, leaf, isCondition || len(terms) > 1)
	}
	if len(terms) == 1 {
		f.adviseFiles(ctx, terms[0])
	}
	if len(f.notices) == 0 && len(terms) > 0 && ctx.Err() == context.DeadlineExceeded {
		f.notices = append(f.notices, syntax.Notice{
			Code: syntax.TermFindsNothing, At: terms[0].Span(), Message: "There was no time to look for names near the terms. Search again, or add a filter such as repo:.",
		})
	}
	return f
}

// adviseFiles suggests files whose names contain the only term, if there is no near name.
func (a *adviceFinder) adviseFiles(ctx context.Context, leaf syntax.Query) {
	text, ok := leaf.(*syntax.Text)
	q := a.request.Query
	if !ok || text.Regexp || len(a.notices) > 0 || q.Type != syntax.TypeDefault || q.Select != syntax.SelectDefault {
		return
	}
	named := &syntax.File{Pattern: regexp.QuoteMeta(text.Pattern), Case: text.Case}
	result, err := a.answerer.probe(ctx, search.Request{
		Query:   &syntax.Parsed{Root: syntax.Replace(q.Root, leaf, named), Select: syntax.SelectFile},
		Matches: syntax.MaxSuggestions, Public: a.request.Public, WithoutAdvice: true,
	}, nil)
	if err != nil {
		return
	}
	defer result.Release()
	n := syntax.Notice{Code: syntax.TermFindsNothing, At: leaf.Span()}
	for i := range result.Files {
		n.Suggestions = append(n.Suggestions, result.Files[i].Path)
		n.Queries = append(n.Queries, fileQuery(q, leaf, result.Files[i].Path))
	}
	if len(n.Suggestions) > 0 {
		n.Message = syntax.ShowFilter(text.Pattern) + " has no match in the contents of files, but in file names: " +
			syntax.ShowNames(n.Suggestions, ", ") + "."
		a.notices = append(a.notices, n)
	}
}

// explainsNothing reports whether the notices already explain an empty answer: a filter
// on files selects nothing.
func explainsNothing(notices []syntax.Notice) bool {
	return slices.ContainsFunc(notices, func(n syntax.Notice) bool {
		return n.Code == syntax.FilterSelectsNothing && n.Filter != "" && !strings.Contains(n.Filter, "sym:")
	})
}

// mergeAdvice adds the advice about terms to the other notices of a search. If a sym:
// filter that selects nothing already has a notice, that notice gets the suggested names.
func mergeAdvice(notices, advice []syntax.Notice) []syntax.Notice {
	for _, a := range advice {
		i := slices.IndexFunc(notices, func(n syntax.Notice) bool {
			return n.Code == syntax.FilterSelectsNothing && n.Filter != "" && n.At == a.At && a.Code == syntax.TermFindsNothing
		})
		switch {
		case i >= 0 && len(a.Suggestions) > 0:
			notices[i].Message += " Did you mean " + syntax.ShowNames(a.Suggestions, " or ") + "?"
			notices[i].Suggestions, notices[i].Queries = a.Suggestions, a.Queries
		case i < 0 && len(notices) < syntax.MaxNotices:
			notices = append(notices, a)
		}
	}
	return notices
}

// hasPattern reports whether a tree contains a pattern for text or symbols.
func hasPattern(q syntax.Query) bool {
	found := false
	syntax.Walk(q, func(q syntax.Query) bool {
		switch q.(type) {
		case *syntax.Text, *syntax.Symbol:
			found = true
		}
		return !found
	})
	return found
}

// patternsOf returns the patterns of an operand that are not below a negation.
func patternsOf(q syntax.Query) (leaves []syntax.Query) {
	syntax.Walk(q, func(q syntax.Query) bool {
		switch q.(type) {
		case *syntax.Not:
			return false
		case *syntax.Text, *syntax.Symbol, *syntax.FileHas:
			leaves = append(leaves, q)
		}
		return true
	})
	return leaves
}

// wordOf returns the name that a leaf searches for, or "" if it does not search for a
// name.
func wordOf(leaf syntax.Query) string {
	switch q := leaf.(type) {
	case *syntax.Text:
		if !q.Regexp {
			return identifier.Trim(q.Pattern)
		}
		return identifier.Trim(plan.WrittenLiteral(q.Pattern))
	case *syntax.Symbol:
		return identifier.Trim(plan.WrittenLiteral(q.Pattern))
	}
	return ""
}

// withName returns a leaf with its name replaced.
func withName(leaf syntax.Query, word, name string) syntax.Query {
	switch q := leaf.(type) {
	case *syntax.Text:
		other := *q
		if other.Pattern = strings.Replace(q.Pattern, word, name, 1); q.Regexp {
			other.Pattern = strings.Replace(q.Pattern, regexp.QuoteMeta(word), regexp.QuoteMeta(name), 1)
		}
		return &other
	case *syntax.Symbol:
		other := *q
		other.Pattern = strings.Replace(q.Pattern, regexp.QuoteMeta(word), regexp.QuoteMeta(name), 1)
		return &other
	}
	return leaf
}

// adviseTerm adds a notice about a term without a match. If the query has several terms,
// it first checks that this one has none.
func (a *adviceFinder) adviseTerm(ctx context.Context, leaf syntax.Query, several bool) {
	word := wordOf(leaf)
	if several && a.hasMatch(ctx, leaf, true) {
		return
	}
	var names []string
	if len(word) >= minNearBytes && len(word) <= maxAdvisedBytes {
		names = a.suggestNames(ctx, leaf, word)
	}
	if ctx.Err() != nil && len(names) == 0 || len(names) == 0 && !several {
		return
	}
	n := syntax.Notice{Code: syntax.TermFindsNothing, At: leaf.Span(), Suggestions: names}
	shown := word
	if shown == "" {
		shown = leaf.String()
	}
	n.Message = syntax.ShowFilter(shown) + " has no match."
	if len(a.filters) > 0 {
		n.Message = syntax.ShowFilter(shown) + " has no match in the files that the filters select."
	}
	if len(names) > 0 {
		n.Message += " Did you mean " + syntax.ShowNames(names, " or ") + "?"
		for _, name := range names {
			text := a.request.Query.Correct(leaf, word, name)
			n.Queries = append(n.Queries, text)
			reason := search.RelatedSpelling
			if identifier.EqualIgnoringStyle(word, name) {
				reason = search.RelatedStyle
			}
			if text != "" {
				a.suggested = append(a.suggested, suggestedQuery{reason, text, syntax.Replace(a.request.Query.Root, leaf, withName(leaf, word, name))})
			}
		}
	}
	a.notices = append(a.notices, n)
}

// suggestNames returns names that may be meant and with which the whole query has a
// match.
func (a *adviceFinder) suggestNames(ctx context.Context, leaf syntax.Query, word string) (names []string) {
	var candidates []string
	text, ok := leaf.(*syntax.Text)
	if expression := identifier.StyleExpression(word); ok && !text.Regexp && text.Pattern == word && expression != "" {
		candidates = a.answerer.writtenForms(ctx, a.request, text, expression)
	} else if expression != "" {
		candidates = identifier.LowerStyles(word)
	}
	isSame := func(a, b string) bool { return a == b || !isExact(leaf) && strings.EqualFold(a, b) }
	tried := 0
	try := func(candidates []string, spelled bool) {
		for _, name := range candidates {
			if tried == maxTriedNames || len(names) == syntax.MaxSuggestions {
				break
			}
			if isSame(word, name) || slices.ContainsFunc(names, func(other string) bool { return isSame(other, name) }) {
				continue
			}
			tried++
			found := a.matchedText(ctx, syntax.Replace(a.request.Query.Root, leaf, withName(leaf, word, name)))
			if found == "" {
				continue
			}
			if strings.EqualFold(found, name) && !spelled {
				name = found // as the text spells it
			}
			names = append(names, name)
		}
	}
	try(candidates, false)
	// Names with more errors, and names in text alone, cost more and are rarely meant. On
	// an error, there are fewer names.
	near := func(errors int, inText bool) {
		c := &search.ShardNames{Word: word, CaseCounts: isExact(leaf), MaxErrors: errors, InText: inText}
		names, _ := a.names.NearNames(ctx, c)
		try(names, true)
	}
	for errors := 1; errors <= search.NearErrors(word) && (errors == 1 || len(names) == 0); errors++ {
		near(errors, false)
	}
	if len(names) == 0 {
		near(1, true)
	}
	return names
}

// fileQuery returns the query with the term replaced by file: and a path.
func fileQuery(q *syntax.Parsed, leaf syntax.Query, path string) string {
	at := leaf.Span()
	if at.Start >= at.End || at.End > len(q.Text) {
		return ""
	}
	file := &syntax.File{Pattern: "^" + regexp.QuoteMeta(path) + "$", Case: syntax.CaseNo}
	return q.Text[:at.Start] + file.String() + q.Text[at.End:]
}

// isExact reports whether a leaf respects letter case.
func isExact(leaf syntax.Query) bool {
	switch q := leaf.(type) {
	case *syntax.Text:
		return q.Case == syntax.CaseYes
	case *syntax.Symbol:
		return q.Case == syntax.CaseYes
	}
	return false
}

// hasMatch reports whether a term has a match in the files that the filters select. It
// returns otherwise if the search fails.
func (a *adviceFinder) hasMatch(ctx context.Context, leaf syntax.Query, otherwise bool) bool {
	root := leaf
	if len(a.filters) > 0 {
		root = &syntax.And{Children: append(slices.Clone(a.filters), leaf)}
	}
	result, err := a.runProbe(ctx, root)
	if err != nil {
		return otherwise
	}
	defer result.Release()
	return result.Stats.Matches > 0 || result.Stopped != search.StopNone
}

// matchedText returns the text of a match of a query; a blank if the match has no text,
// and "" if there is no match.
func (a *adviceFinder) matchedText(ctx context.Context, root syntax.Query) string {
	result, err := a.runProbe(ctx, root)
	if err != nil || result.Stats.Matches == 0 {
		return ""
	}
	defer result.Release()
	for i := range result.Files {
		for _, c := range result.Files[i].Chunks {
			for _, r := range c.Ranges {
				from, to := r.Start.ByteOffset-c.Start.ByteOffset, r.End.ByteOffset-c.Start.ByteOffset
				return string(c.Content[from:to])
			}
		}
	}
	return " "
}

func (a *adviceFinder) runProbe(ctx context.Context, root syntax.Query) (*search.Result, error) {
	return a.answerer.probe(ctx, search.Request{
		Query:   &syntax.Parsed{Root: root, Type: a.request.Query.Type, Select: a.request.Query.Select},
		Matches: 1, Public: a.request.Public, WithoutAdvice: true, AnyMatch: true,
	}, nil)
}
