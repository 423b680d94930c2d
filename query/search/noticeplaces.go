package search

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"path"
	resyntax "regexp/syntax"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/bitset"
	"github.com/quarrysearch/quarry/query/match"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/spelling"
)

// visiblePlaces iterates over the visible places of the selected repositories.
func (in *noticeFinder) visiblePlaces() iter.Seq2[corpus.Segment, int] {
	return func(yield func(corpus.Segment, int) bool) {
		n := 0
		for _, seg := range in.segments {
			for i, r := range seg.Places.Repo {
				if !seg.IsVisible(i) || !in.selected[r] {
					continue
				}
				if n++; n%inspectStep == 0 && !in.hasTime() || !yield(seg, i) {
					return
				}
			}
		}
	}
}

// placeSummary summarizes the places of the selected repositories on the searched refs.
type placeSummary struct {
	evaluator    match.PlaceEvaluator
	ofEmpty      bool         // the answer is empty, so the combination of the filters matters
	conditions   []match.Node // on places
	wantsSymbols bool         // it matters whether places have symbols

	files       int
	languages   map[string]bool
	matched     []bool // by predicate: some place satisfies it, or none is sought
	left        int    // predicates that no place has satisfied yet
	satisfiable bool   // some place satisfies all conditions on places
	symbols     bool   // such a place contains symbols
	known       bool   // every place was inspected, or nothing was left to find

	places        *segment.Places // of the current segment
	inspected     int             // places of it
	languagesSeen []bool          // in it
}

// newPlaceSummary returns the summary of no places.
func (in *noticeFinder) newPlaceSummary() *placeSummary {
	c := in.scope.Query
	v := &placeSummary{
		evaluator: match.NewPlaceEvaluator(in.scope), ofEmpty: in.empty, wantsSymbols: c.SoleSymbol() != nil,
		conditions: slices.DeleteFunc(slices.Clone(c.RootConjuncts()), match.IsAboutText),
		languages:  map[string]bool{}, matched: make([]bool, len(c.Predicates)),
	}
	for _, p := range c.Predicates {
		sought := p.Language != nil && (in.empty || p.Optional) || (p.Path != nil || p.Place != nil) && in.empty
		if v.matched[p.Number] = !sought; sought {
			v.left++
		}
	}
	return v
}

// summarizePlaces inspects each place once, until every filter is known to select
// something.
func (in *noticeFinder) summarizePlaces() *placeSummary {
	v := in.newPlaceSummary()
	if in.empty && in.findPlaces(v) {
		return v
	}
	budget := maxInspectedPlaces
	if !in.empty {
		budget = maxInspectedOfAnswer
	}
	for seg, i := range in.visiblePlaces() {
		if budget -= 1 + (v.left+len(v.conditions))/inspectedTogether; budget < 0 {
			return v
		}
		if v.addPlace(seg, i); v.isDone() {
			break
		}
	}
	v.known = in.hasTime() || v.isDone()
	return v
}

// findPlaces looks for a place of each filter, and for one of all of them, in the columns of each
// segment. It reports whether nothing is left to find, as is the case for most queries: then no
// place needs to be inspected. It does not look if a path must match an expression, because a few
// places may show as much as all of them.
func (in *noticeFinder) findPlaces(v *placeSummary) bool {
	if slices.ContainsFunc(in.scope.Query.Predicates, func(p *match.Predicate) bool { return p.Path != nil && !p.Path.Exact && !p.Path.Bounded() }) {
		return false
	}
	matched := slices.Clone(v.matched)
	for _, seg := range in.segments {
		if !in.hasTime() {
			return false
		}
		selected, some := bitset.New(seg.Places.Len()), false
		for from, to := range seg.RepoRuns() {
			if in.selected[seg.Places.Repo[from]] {
				selected.AddRange(from, to)
				some = true
			}
		}
		if !some {
			continue
		}
		columns, all := in.scope.PlaceColumns(v.conditions, seg)
		for p, column := range columns[:len(matched)] {
			matched[p] = matched[p] || bitset.Intersection(column, selected).Next(0) >= 0
		}
		all = bitset.Intersection(all, selected)
		for i := all.Next(0); i >= 0 && !v.isSatisfied(); i = all.Next(i + 1) {
			from, to := seg.Reader.SymbolRange(seg.Places.Doc[i])
			v.satisfiable, v.symbols = true, v.symbols || from < to
		}
		if v.isSatisfied() && !slices.Contains(matched, false) {
			v.files, v.matched, v.left, v.known = selected.Count(), matched, 0, true
			return true
		}
	}
	v.satisfiable, v.symbols = false, false
	return false
}

// isDone reports whether nothing is left to find.
func (v *placeSummary) isDone() bool { return v.left == 0 && (!v.ofEmpty || v.isSatisfied()) }

// isSatisfied reports whether a place satisfies all conditions, and has symbols if that
// matters.
func (v *placeSummary) isSatisfied() bool {
	return v.satisfiable && (v.symbols || !v.wantsSymbols)
}

// addPlace adds a place to the summary.
func (v *placeSummary) addPlace(seg corpus.Segment, i int) {
	v.files++
	doc := seg.Places.Doc[i]
	if v.places != seg.Places {
		v.places, v.inspected, v.languagesSeen = seg.Places, 0, make([]bool, len(seg.Reader.Languages()))
		clear(v.evaluator.Columns)
		for _, p := range v.evaluator.Scope.Query.Predicates {
			if p.Path != nil && v.ofEmpty && !match.MayPath(&seg, p.Path) {
				v.evaluator.Columns[p.Number] = bitset.New(seg.Places.Len())
			}
		}
	}
	if v.inspected++; v.inspected == max(seg.Places.Len()/columnShare, 1) {
		v.matchPaths(seg)
	}
	if l := seg.Reader.LanguageIndex(doc); !v.languagesSeen[l] {
		v.languagesSeen[l] = true
		v.addLanguage(string(seg.Reader.Language(doc)))
	}
	for _, p := range v.evaluator.Scope.Query.Predicates {
		if v.matched[p.Number] {
			continue
		}
		if p.Path != nil && v.evaluator.MatchesPath(p, seg, i) || p.Place != nil && p.Place(seg, i) {
			v.matched[p.Number] = true
			v.left--
		}
	}
	if !v.ofEmpty || v.isSatisfied() {
		return
	}
	if !slices.ContainsFunc(v.conditions, func(n match.Node) bool { return !v.evaluator.EvalPlace(n, seg, i) }) {
		v.satisfiable = true
		from, to := seg.Reader.SymbolRange(doc)
		v.symbols = v.symbols || from < to
	}
}

// columnShare is the fraction of the places of a segment after which all its paths are
// matched at once: that is cheaper for many places, but not for those of a small repository.
const columnShare = 32

// matchPaths evaluates the path predicates that still matter for all places of a segment.
func (v *placeSummary) matchPaths(seg corpus.Segment) {
	for _, p := range v.evaluator.Scope.Query.Predicates {
		if p.Path != nil && v.ofEmpty && v.evaluator.Columns[p.Number] == nil && (!v.matched[p.Number] || !v.isSatisfied()) {
			v.evaluator.Columns[p.Number] = v.evaluator.Scope.PlaceColumn(p, seg)
		}
	}
}

func (v *placeSummary) addLanguage(name string) {
	if name != "" {
		v.languages[name] = true
	}
	for _, p := range v.evaluator.Scope.Query.Predicates {
		if !v.matched[p.Number] && p.Language[strings.ToLower(name)] {
			v.matched[p.Number] = true
			v.left--
		}
	}
}

// inspectPlaces inspects the filters on languages and paths, and all filters together.
func (in *noticeFinder) inspectPlaces(ctx context.Context) {
	faults := len(in.notices)
	var s *placeSummary
	if shards, ok := in.view.(*shardedView); ok {
		s = shards.summarizePlaces(ctx, in)
	} else {
		s = in.summarizePlaces()
	}
	if !s.known {
		return
	}
	files := fmt.Sprintf("the %s of %s", syntax.ShowCount(s.files, "file", "files"), in.describeRepositories())
	if s.files == 0 {
		if in.empty {
			in.addNotice(syntax.Notice{Code: syntax.FilterSelectsNothing, Message: fmt.Sprintf("The filters select %s, but the searched branches have no indexed files.", in.describeRepositories())})
		}
		return
	}
	for _, p := range in.scope.Query.Predicates {
		switch leaf := p.Leaf.(type) {
		case *syntax.Language:
			if !s.matched[p.Number] {
				among := fmt.Sprintf("the %s in %s", syntax.ShowCount(len(s.languages), "language", "languages"), in.describeRepositories())
				in.addFilterNotice(p, among, suggestNames(leaf.Name, slices.Sorted(maps.Keys(s.languages))))
			}
		case *syntax.Is:
			if !s.matched[p.Number] && !p.Negated {
				in.addFilterNotice(p, files, suggestions{})
			}
		case *syntax.File:
			if !s.matched[p.Number] && !p.Negated {
				in.addFilterNotice(p, files, suggestions{near: in.nearPaths(ctx, longestLiteral(leaf.Pattern))})
			}
		}
	}
	if !in.empty || len(in.notices) > faults {
		return
	}
	if symbol := in.scope.Query.SoleSymbol(); !s.satisfiable {
		in.addNotice(syntax.Notice{Code: syntax.FilterSelectsNothing, Message: fmt.Sprintf("No file of %s matches all filters of the query.", in.describeRepositories())})
	} else if symbol != nil && !in.listsSymbols {
		filter := filterOf(symbol)
		message := syntax.ShowFilter(filter) + " selects none of the symbols in the files that the other filters select."
		if !s.symbols {
			message = fmt.Sprintf("%s selects nothing: no symbols are known in %s.", syntax.ShowFilter(filter), files)
		}
		in.addNotice(syntax.Notice{Code: syntax.FilterSelectsNothing, At: symbol.At, Filter: filter, Message: message})
	}
}

// nearPaths suggests paths and directories, or endings if word is an ending such as .py.
func (in *noticeFinder) nearPaths(ctx context.Context, word string) []string {
	word = strings.Trim(word, "/")
	if word == "" {
		return nil
	}
	if shards, ok := in.view.(*shardedView); ok {
		return shards.nearPaths(ctx, in, word)
	}
	return spelling.Nearest(word, func(yield func(string) bool) {
		looked, seen := 0, map[string]bool{}
		for seg, i := range in.visiblePlaces() {
			name := string(seg.Places.Path(i))
			if looked++; looked > maxSuggestedPlaces {
				return
			}
			if strings.HasPrefix(word, ".") {
				if name = path.Ext(name); !seen[name] && !yield(name) {
					return
				}
				seen[name] = true
				continue
			}
			for ; name != "." && !seen[name]; name = path.Dir(name) {
				if seen[name] = true; !yield(name) {
					return
				}
			}
		}
	}, syntax.MaxSuggestions)
}

// longestLiteral returns the longest text that an expression requires, in its letter
// case. A dot counts as a literal dot: users who search for main.go rarely escape it.
func longestLiteral(expression string) string {
	tree, err := resyntax.Parse(expression, syntax.RegexpFlags)
	if err != nil {
		return ""
	}
	longest, run := "", ""
	var walk func(re *resyntax.Regexp)
	walk = func(re *resyntax.Regexp) {
		switch re.Op {
		case resyntax.OpLiteral:
			run += string(re.Rune)
		case resyntax.OpAnyCharNotNL:
			run += "."
		case resyntax.OpConcat, resyntax.OpCapture:
			for _, sub := range re.Sub {
				walk(sub)
			}
		default:
			run = ""
			for _, sub := range re.Sub {
				walk(sub)
				run = ""
			}
		}
		if len(run) > len(longest) {
			longest = run
		}
	}
	walk(tree)
	return longest
}
