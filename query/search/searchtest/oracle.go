package searchtest

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// An Oracle answers a query by a plain scan of a model. It follows the rules of
// docs/query-language.md and uses none of the code that it checks.
type Oracle struct {
	T        testing.TB
	Model    *Model
	Query    *syntax.Parsed
	Compiled map[string]*regexp.Regexp
}

// A Spot is a match in a text.
type Spot struct {
	Start, End int
	symbol     bool
}

// Expected is an answer: the matches of each file, or the repositories.
type Expected struct {
	Files   map[string][]Spot
	Repos   map[string]bool
	Matches int
}

// compileRegexp compiles an expression and caches it.
func (o *Oracle) compileRegexp(pattern string, fold bool) *regexp.Regexp {
	flags := "(?m)"
	if fold {
		flags = "(?mi)"
	}
	re := o.Compiled[flags+pattern]
	if re == nil {
		re = regexp.MustCompile(flags + pattern)
		o.Compiled[flags+pattern] = re
	}
	return re
}

// isMultiline and cr report, for the patterns of the test only, whether the rules treat a
// pattern as naming a line feed or a carriage return.
func isMultiline(pattern string) bool {
	pattern = strings.ReplaceAll(pattern, `[^\n]`, "")
	return strings.Contains(pattern, "\n") || strings.Contains(pattern, `\n`) || strings.Contains(pattern, "(?s")
}

func namesCR(pattern string) bool {
	return strings.Contains(pattern, "\r") || strings.Contains(pattern, `\r`)
}

// scanPattern finds a pattern in a text.
func (o *Oracle) scanPattern(pattern string, isRegexp, fold bool, text []byte) []Spot {
	hasEnd := isRegexp && strings.Contains(pattern, "$") && !strings.Contains(pattern, `\$`)
	if !isRegexp {
		pattern, text = regexp.QuoteMeta(pattern), withoutInvalid(text)
	}
	lines := isMultiline(pattern)
	return ScanText(o.compileRegexp(pattern, fold), lines, (lines || hasEnd) && !namesCR(pattern), text)
}

// withoutInvalid returns a text with each invalid UTF-8 byte replaced by a control
// character. Package regexp treats such a byte as U+FFFD, but a literal matches only its
// characters.
func withoutInvalid(text []byte) []byte {
	out := bytes.Clone(text)
	for i := 0; i < len(out); {
		r, size := utf8.DecodeRune(out[i:])
		if r == utf8.RuneError && size == 1 {
			out[i] = 1
		}
		i += size
	}
	return out
}

// ScanText matches an expression line by line or, if it names line feeds, in the whole
// text. With unify it ignores a carriage return before a line feed.
func ScanText(re *regexp.Regexp, lines, unify bool, text []byte) (spots []Spot) {
	if lines {
		return scanWhole(re, unify, text)
	}
	base := 0
	for line := range bytes.SplitSeq(text, []byte{'\n'}) {
		if unify {
			spots = appendSpots(spots, re, bytes.TrimSuffix(line, []byte("\r")), base)
		} else {
			spots = appendSpots(spots, re, line, base)
		}
		base += len(line) + 1
	}
	return spots
}

func appendSpots(spots []Spot, re *regexp.Regexp, text []byte, base int) []Spot {
	for _, loc := range re.FindAllIndex(text, -1) {
		if loc[0] < loc[1] {
			spots = append(spots, Spot{base + loc[0], base + loc[1], false})
		}
	}
	return spots
}

// scanWhole finds matches across lines.
func scanWhole(re *regexp.Regexp, unify bool, text []byte) []Spot {
	var read []byte
	var from []int
	for i := range text {
		if !unify || !bytes.HasPrefix(text[i:], []byte("\r\n")) {
			read, from = append(read, text[i]), append(from, i)
		}
	}
	spots := appendSpots(nil, re, read, 0)
	for i, s := range spots {
		spots[i].Start, spots[i].End = from[s.Start], from[s.End-1]+1
	}
	return spots
}

// evalQuery evaluates a query on a place: whether it is true, and the matches of the
// leaves that make it true.
func (o *Oracle) evalQuery(q syntax.Query, p *ModelPlace) (bool, []Spot) {
	switch q := q.(type) {
	case *syntax.And:
		var all []Spot
		for _, k := range q.Children {
			ok, spots := o.evalQuery(k, p)
			if !ok {
				return false, nil
			}
			all = append(all, spots...)
		}
		return true, all
	case *syntax.Or:
		some, all := false, []Spot(nil)
		for _, k := range q.Children {
			if ok, spots := o.evalQuery(k, p); ok {
				some, all = true, append(all, spots...)
			}
		}
		return some, all
	case *syntax.Not:
		ok, _ := o.evalQuery(q.Child, p)
		return !ok, nil
	case *syntax.Text:
		spots := o.onLines(q.Lines, o.scanPattern(q.Pattern, q.Regexp, q.Case != syntax.CaseYes, p.Doc.Text), p.Doc.Text)
		return len(spots) > 0, spots
	case *syntax.Symbol:
		spots := o.matchSymbols(q, p.Doc)
		return len(spots) > 0, spots
	}
	return o.evalFilter(q, p), nil
}

func (o *Oracle) matchSymbols(q *syntax.Symbol, d *ModelDocument) (spots []Spot) {
	re := o.compileRegexp(q.Pattern, q.Case != syntax.CaseYes)
	for _, s := range d.Symbols {
		if re.MatchString(s.Name) && o.isOfKind(q.Kinds, s.Kind) {
			spots = append(spots, Spot{int(s.Offset), int(s.Offset) + len(s.Name), true})
		}
	}
	return o.onLines(q.Lines, spots, d.Text)
}

// isOfKind reports whether the kinds select a symbol, for the words of the test only.
func (o *Oracle) isOfKind(all []syntax.Kinds, kind code.SymbolKind) bool {
	words := map[code.SymbolKind][]string{"struct": {"struct", "type"}, "function": {"func"}}[kind]
	return !slices.ContainsFunc(all, func(k syntax.Kinds) bool {
		return k.Not == slices.ContainsFunc(k.Words, func(w string) bool { return slices.Contains(words, w) })
	})
}

// onLines keeps the spots whose lines meet all conditions.
func (o *Oracle) onLines(all []syntax.Line, spots []Spot, text []byte) []Spot {
	return slices.DeleteFunc(spots, func(s Spot) bool {
		start, end := bytes.LastIndexByte(text[:s.Start], '\n')+1, len(text)
		if n := bytes.IndexByte(text[s.End:], '\n'); n >= 0 {
			end = s.End + n
		}
		lines := bytes.ReplaceAll(append(bytes.Clone(text[start:end]), '\n'), []byte("\r\n"), []byte("\n"))
		return slices.ContainsFunc(all, func(l syntax.Line) bool {
			return l.Not == o.compileRegexp(l.Pattern, l.Case != syntax.CaseYes).Match(bytes.TrimSuffix(lines, []byte("\n")))
		})
	})
}

// evalFilter evaluates a filter.
func (o *Oracle) evalFilter(q syntax.Query, p *ModelPlace) bool {
	repo := o.Model.Repos[p.Repo]
	switch q := q.(type) {
	case *syntax.Const:
		return q.Value
	case *syntax.File:
		return o.compileRegexp(q.Pattern, q.Case != syntax.CaseYes).MatchString(p.Path)
	case *syntax.Repo:
		return o.compileRegexp(q.Pattern, q.Case != syntax.CaseYes).MatchString(repo.Name)
	case *syntax.Language:
		return strings.EqualFold(q.Name, string(p.Doc.Lang))
	case *syntax.Revision:
		return namesRef(q, p.Ref)
	case *syntax.FileHas:
		return len(o.scanPattern(q.Pattern, true, q.Case != syntax.CaseYes, p.Doc.Text)) > 0
	case *syntax.RepoHas:
		return slices.ContainsFunc(o.Model.Places, func(other ModelPlace) bool {
			return other.Repo == p.Repo && o.searchesRef(other.Ref) && (q.Path == "" || o.compileRegexp(q.Path, q.Case != syntax.CaseYes).MatchString(other.Path)) &&
				(q.Content == "" || len(o.scanPattern(q.Content, true, q.Case != syntax.CaseYes, other.Doc.Text)) > 0)
		})
	case *syntax.RepoSet:
		return slices.Contains(q.Names, repo.Name)
	case *syntax.Is:
		flags := pathFlags(p.Path) | p.Doc.documentFlags()
		switch q.Trait {
		case syntax.Test:
			return flags&code.FlagTest != 0
		case syntax.Vendored:
			return flags&code.FlagVendored != 0
		case syntax.Generated:
			return flags&code.FlagGenerated != 0
		}
		return strings.Contains(p.Path, "/docs/")
	case *syntax.Archived:
		return q.Want == syntax.Yes || repo.Archived == (q.Want == syntax.Only)
	case *syntax.Fork:
		return q.Want == syntax.Yes || repo.Fork == (q.Want == syntax.Only)
	case *syntax.Visibility:
		return q.Want == syntax.Any || repo.Private == (q.Want == syntax.Private)
	}
	o.T.Fatalf("no oracle for %T", q)
	return false
}

func namesRef(q *syntax.Revision, ref code.Ref) bool {
	if ref.IsPin() {
		return q.Pattern == string(ref) || len(q.Pattern) > 6 && strings.HasPrefix(ref.Short(), q.Pattern)
	}
	return q.Pattern == syntax.AllRevisions || q.Pattern == syntax.DefaultRevision && ref == "refs/heads/main" || strings.Contains(string(ref), q.Pattern)
}

// searchesRef reports whether the query searches a ref: the default branch, the refs that
// some rev: names, or all refs but pins if one is negated.
func (o *Oracle) searchesRef(ref code.Ref) bool {
	if !syntax.HasRevision(o.Query.Root) {
		return ref == "refs/heads/main"
	}
	named := false
	var walk func(q syntax.Query, negated bool)
	walk = func(q syntax.Query, negated bool) {
		switch q := q.(type) {
		case *syntax.And:
			for _, k := range q.Children {
				walk(k, negated)
			}
		case *syntax.Or:
			for _, k := range q.Children {
				walk(k, negated)
			}
		case *syntax.Not:
			walk(q.Child, true)
		case *syntax.Revision:
			named = named || negated && !ref.IsPin() || namesRef(q, ref)
		}
	}
	walk(o.Query.Root, false)
	return named
}

// hasLeaf reports whether a query has a leaf for which is returns true.
func hasLeaf(q syntax.Query, is func(syntax.Query) bool) bool {
	some := false
	syntax.Walk(q, func(q syntax.Query) bool {
		some = some || is(q)
		return true
	})
	return some
}

func isPattern(q syntax.Query) bool {
	switch q.(type) {
	case *syntax.Text, *syntax.Symbol:
		return true
	}
	return false
}

// needsFiles reports whether a leaf depends on more than the repository.
func needsFiles(q syntax.Query) bool {
	switch q.(type) {
	case *syntax.File, *syntax.Language, *syntax.Revision, *syntax.Is, *syntax.FileHas:
		return true
	}
	return isPattern(q)
}

// WholeAnswer returns the complete answer.
func (o *Oracle) WholeAnswer() Expected {
	e := Expected{Files: map[string][]Spot{}, Repos: map[string]bool{}}
	if simple := syntax.Simplify(o.Query.Root); o.Query.Type == syntax.TypeRepo && o.selectKind() == syntax.SelectRepo && !hasLeaf(simple, needsFiles) {
		for i, r := range o.Model.Repos {
			if ok, _ := o.evalQuery(simple, &ModelPlace{Repo: i}); ok {
				e.Repos[r.Name] = true
			}
		}
		e.Matches = len(e.Repos)
		return e
	}
	if o.selectKind() == syntax.SelectSymbol && !hasLeaf(syntax.Simplify(o.Query.Root), isPattern) {
		all := *o.Query
		all.Root = &syntax.And{Children: []syntax.Query{o.Query.Root, &syntax.Symbol{Pattern: ".", Case: syntax.CaseNo}}}
		o.Query = &all
	}
	simple := syntax.Simplify(o.Query.Root) // apart from always-true operands, no operand of an or shows matches
	for i := range o.Model.Places {
		p := &o.Model.Places[i]
		if !o.searchesRef(p.Ref) {
			continue
		}
		ok, spots := o.evalQuery(simple, p)
		if ok {
			o.addShown(&e, p, spots)
		}
	}
	for _, spots := range e.Files {
		e.Matches += max(len(spots), 1)
	}
	e.Matches += len(e.Repos)
	return e
}

// addShown adds the matches of a file that the query shows.
func (o *Oracle) addShown(e *Expected, p *ModelPlace, spots []Spot) {
	repo := o.Model.Repos[p.Repo].Name
	key := FileKey(repo, p.Path, p.Doc.Text)
	spots = mergeSpots(spots)
	switch kind := o.selectKind(); {
	case kind == syntax.SelectRepo:
		e.Repos[repo] = true
		return
	case kind == syntax.SelectFile:
		spots = nil
	case kind == syntax.SelectSymbol:
		if spots = slices.DeleteFunc(spots, func(s Spot) bool { return !onSymbol(s, p.Doc) }); len(spots) == 0 {
			return
		}
	case kind == syntax.SelectContent && len(spots) == 0:
		return
	}
	e.Files[key] = spots
}

func (o *Oracle) selectKind() syntax.SelectKind {
	byType := map[syntax.TypeKind]syntax.SelectKind{
		syntax.TypeFile: syntax.SelectFile, syntax.TypeRepo: syntax.SelectRepo, syntax.TypeSymbol: syntax.SelectSymbol,
	}
	if o.Query.Select != syntax.SelectDefault {
		return o.Query.Select
	}
	return byType[o.Query.Type]
}

// mergeSpots sorts spots and removes those that overlap an earlier one.
func mergeSpots(spots []Spot) (kept []Spot) {
	byPlace := slices.Clone(spots)
	slices.SortFunc(byPlace, func(a, b Spot) int {
		rank := func(s Spot) int {
			if s.symbol {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(rank(a), rank(b)), cmp.Compare(b.End, a.End))
	})
	end := 0
	for _, s := range byPlace {
		if s.Start >= end {
			kept, end = append(kept, s), s.End
		}
	}
	return kept
}

func onSymbol(s Spot, d *ModelDocument) bool {
	return slices.ContainsFunc(d.Symbols, func(x code.Symbol) bool {
		return s.Start < int(x.Offset)+len(x.Name) && int(x.Offset) < s.End
	})
}

// FileKey identifies a file of an answer.
func FileKey(repo, path string, text []byte) string {
	return fmt.Sprintf("%s %s %x", repo, path, len(text)) + string(text[max(len(text)-20, 0):])
}
