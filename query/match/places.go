package match

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/bitset"
	"github.com/quarrysearch/quarry/query/match/internal/scan"
	"github.com/quarrysearch/quarry/query/plan"
	"github.com/quarrysearch/quarry/schemas/code"
)

// A Scope evaluates the predicates of a query on the places of one view.
type Scope struct {
	Query *Query
	Repos []*corpus.Repository
	Refs  []code.Ref // nil if only default branches are searched
	// Restricted means that the index may contain text that the caller may not see.
	Restricted bool
	// Rarity is the weight of each atom; nil if all weigh the same.
	Rarity []float64
	// Ranker orders the documents of a ranked search; nil for any other.
	Ranker *Ranker
	// MeansTests means that the words of a ranked search ask for test code.
	MeansTests bool
	// RepoHas[p][r] is true if repository r satisfies predicate p, for predicates on
	// repositories. It is computed once for all segments.
	RepoHas [][]bool
}

// NewScope returns the scope of a query on repositories and refs.
func NewScope(c *Query, repos []*corpus.Repository, refs []code.Ref) *Scope {
	s := &Scope{Query: c, Repos: repos, Refs: refs, RepoHas: make([][]bool, len(c.Predicates))}
	for i, p := range c.Predicates {
		if p.Repo == nil {
			continue
		}
		s.RepoHas[i] = make([]bool, len(repos))
		for r, repo := range repos {
			s.RepoHas[i][r] = repo != nil && p.Repo(repo)
		}
	}
	return s
}

// PlaceColumn returns the visible places of a segment that satisfy a predicate.
func (s *Scope) PlaceColumn(p *Predicate, seg corpus.Segment) bitset.Set {
	out := bitset.New(seg.Places.Len())
	if p.Repo != nil {
		for from, to := range seg.RepoRuns() {
			if s.RepoHas[p.Number][seg.Places.Repo[from]] {
				out.AddRange(from, to)
			}
		}
		return out
	}
	for from, to := range seg.VisibleRuns() {
		switch {
		case p.Language != nil:
			s.languageColumn(out, p, seg, from, to)
		case p.Place != nil:
			for i := from; i < to; i++ {
				if p.Place(seg, i) {
					out.Add(i)
				}
			}
		case p.Ref != nil:
			for i := from; i < to; i++ {
				if repo := s.Repos[seg.Places.Repo[i]]; repo != nil && p.Ref(repo, s.RefOf(seg, i)) {
					out.Add(i)
				}
			}
		default:
			pathColumn(out, p.Path, seg, from, to)
		}
	}
	return out
}

// mayHaveRepository reports whether a segment has a visible place of a repository that satisfies the
// conditions on repositories alone. Those of a segment without one need no columns.
func (s *Scope) mayHaveRepository(seg corpus.Segment) bool {
	conditions := slices.DeleteFunc(slices.Clone(conjunctsOf(s.Query.Root)), func(n Node) bool { return !IsAboutRepositories(n) })
	if len(conditions) == 0 {
		return true
	}
	for from := range seg.RepoRuns() {
		repo := int(seg.Places.Repo[from])
		if !slices.ContainsFunc(conditions, func(n Node) bool { return !EvalRepository(s, n, repo) }) {
			return true
		}
	}
	return false
}

// PlaceColumns returns the visible places of a segment that satisfy each predicate, and the
// places for which all nodes are true, nil for all of them. The nodes must not be about text.
func (s *Scope) PlaceColumns(nodes []Node, seg corpus.Segment) (columns []bitset.Set, all bitset.Set) {
	columns = make([]bitset.Set, len(s.Query.Predicates)+1)
	columns[len(columns)-1] = bitset.New(seg.Places.Len())
	for i, p := range s.Query.Predicates {
		switch {
		case p.owned != nil: // decided for single places
		case p.Path != nil && !MayPath(&seg, p.Path):
			columns[i] = emptyColumn(columns)
		default:
			columns[i] = s.PlaceColumn(p, seg)
		}
	}
	return columns, s.possibleOfAll(nodes, true, columns)
}

// evalPredicate evaluates a predicate for one place. The predicate must not be on paths.
func (s *Scope) evalPredicate(p *Predicate, seg corpus.Segment, place int) bool {
	r := seg.Places.Repo[place]
	switch {
	case p.Repo != nil:
		return s.RepoHas[p.Number][r]
	case p.Place != nil:
		return p.Place(seg, place)
	case p.owned != nil:
		return s.Repos[r] != nil && p.owned(s.Repos[r], seg.Places.Path(place))
	case p.Language != nil:
		return p.Language[strings.ToLower(string(seg.Reader.Language(seg.Places.Doc[place])))]
	}
	return s.Repos[r] != nil && p.Ref(s.Repos[r], s.RefOf(seg, place))
}

// RefOf returns the ref of a place.
func (s *Scope) RefOf(seg corpus.Segment, place int) code.Ref {
	if seg.Places.Ref == nil {
		if r := s.Repos[seg.Places.Repo[place]]; r != nil {
			return r.DefaultRef()
		}
		return ""
	}
	return s.Refs[seg.Places.Ref[place]]
}

func (s *Scope) languageColumn(out bitset.Set, p *Predicate, seg corpus.Segment, from, to int) {
	names := seg.Reader.Languages()
	has := make([]bool, len(names))
	some := false
	for i, name := range names {
		has[i] = p.Language[strings.ToLower(name)]
		some = some || has[i]
	}
	if !some {
		return
	}
	for i, d := range seg.Places.Doc[from:to] {
		if has[seg.Reader.LanguageIndex(d)] {
			out.Add(from + i)
		}
	}
}

// Once a part of the paths, 1/denseShare and at least minDense, have the literal of a pattern that
// is anchored to an end of a path, the others are compared one by one: many paths have .c
// somewhere for each that ends in it, and the search for the next one costs more.
const denseShare, minDense = 8, 64

// pathColumn sets the places between from and to whose path matches. It searches their
// paths as one text with one path per line.
func pathColumn(out bitset.Set, p *plan.Pattern, seg corpus.Segment, from, to int) {
	if p.Exact || len(p.Sets) > 0 {
		matches := lineMatcher(p)
		next, found, isDense := 0, 0, false
		eachLineWith(seg.Places.PathLines(from, to), p, func(line int, path []byte) bool {
			if matches(path) {
				out.Add(from + line)
			}
			next, found = line+1, found+1
			isDense = !p.Exact && p.Bounded() && found >= minDense && found*denseShare >= next
			return !isDense
		})
		for i := from + next; isDense && i < to; i++ {
			if matches(seg.Places.Path(i)) {
				out.Add(i)
			}
		}
		return
	}
	for i := from; i < to; i++ {
		if p.Regexp.Match(seg.Places.Path(i)) {
			out.Add(i)
		}
	}
}

// maxNarrowPlaces is the maximum number of paths with a literal of a pattern that are
// matched before the index is searched: more do not narrow the search enough.
const maxNarrowPlaces = 256

// narrowColumn returns the places of a segment whose path matches, or nil if the pattern
// has no literal or more than maxNarrowPlaces paths contain one.
func narrowColumn(p *plan.Pattern, seg corpus.Segment) bitset.Set {
	if len(p.Sets) == 0 {
		return nil
	}
	out, left, matches := bitset.New(seg.Places.Len()), maxNarrowPlaces, lineMatcher(p)
	eachLineWith(seg.Places.PathLines(0, seg.Places.Len()), p, func(line int, path []byte) bool {
		if matches(path) {
			out.Add(line)
		}
		left--
		return left >= 0
	})
	if left < 0 {
		return nil
	}
	return out
}

// lineMatcher returns a function that reports whether a path with a literal of the best set of a
// pattern matches.
func lineMatcher(p *plan.Pattern) func(path []byte) bool {
	switch {
	case p.Exact:
		return func([]byte) bool { return true }
	case !p.Bounded():
		return p.Regexp.Match
	}
	e := pathEnds{literal: []byte(p.Sets[0][0]), start: p.LineStart, end: p.LineEnd, fold: p.Fold}
	return e.matchPath
}

// pathEnds matches paths that begin or end with a literal, or are equal to it.
type pathEnds struct {
	literal          []byte // folded if fold
	start, end, fold bool
	folded           []byte
}

// matchPath reports whether a path matches. It folds a path only if a rune outside ASCII might
// change the answer: an ASCII byte at the end is what it folds to, as are those after it.
func (e *pathEnds) matchPath(path []byte) bool {
	has, isKnown := e.compareEnd(path, !e.fold)
	if !isKnown {
		e.folded = postings.AppendFold(e.folded[:0], path)
		has, _ = e.compareEnd(e.folded, true)
	}
	return has
}

// compareEnd compares an end of a path, byte by byte from the end. The answer is known unless it
// depends on how a rune outside ASCII folds.
func (e *pathEnds) compareEnd(path []byte, isFolded bool) (has, isKnown bool) {
	rest := len(path) - len(e.literal)
	if rest < 0 || e.start && e.end && rest > 0 {
		return false, isFolded || postings.IndexForeign(path, 0) == len(path)
	}
	if e.end {
		path = path[rest:]
	}
	for i := range e.literal {
		if e.end {
			i = len(e.literal) - 1 - i
		}
		switch c := path[i]; {
		case !isFolded && c >= utf8.RuneSelf:
			return false, false
		case c != e.literal[i] && (!e.fold || postings.FoldByte(c) != e.literal[i]):
			return false, true
		}
	}
	return true, true
}

// MayPath reports whether the path of a file may match. For a caller who may not see all
// files of the segment, it returns true, because it would depend on hidden ones.
func MayPath(s *corpus.Segment, p *plan.Pattern) bool {
	return s.Visible != nil || len(p.Sets) == 0 || slices.ContainsFunc(p.Sets[0], s.Places.MayPath)
}

// eachLineWith calls visit with each line of text that contains a literal of the best set
// of p, and the line number, until visit returns false.
func eachLineWith(text []byte, p *plan.Pattern, visit func(line int, content []byte) bool) {
	literals := scan.NewLiterals(p.Sets[0], p.Fold)
	literals.Reset(text)
	line, counted := 0, 0
	for at := 0; ; {
		hit, _ := literals.Next(at)
		if hit < 0 {
			return
		}
		line += bytes.Count(text[counted:hit], newline)
		start := bytes.LastIndexByte(text[:hit], '\n') + 1
		end := hit + bytes.IndexByte(text[hit:], '\n')
		if !visit(line, text[start:end]) {
			return
		}
		at, counted = end+1, hit
	}
}

var newline = []byte{'\n'}

// possiblePlaces returns the places for which a node can be true (or false, if positive
// is false) for any values of the atoms. nil means all places.
func (s *Scope) possiblePlaces(n Node, positive bool, columns []bitset.Set) bitset.Set {
	switch n := n.(type) {
	case *andNode:
		return s.possibleOfAll(n.children, positive, columns)
	case *orNode:
		return s.possibleOfAny(n.children, positive, columns)
	case *notNode:
		return s.possiblePlaces(n.child, !positive, columns)
	case *constNode:
		if n.value == positive {
			return nil
		}
		return emptyColumn(columns)
	case *placeNode:
		if column := columns[n.Number]; positive || column == nil {
			return column // nil if not evaluated: any place is possible
		}
		return bitset.Complement(columns[n.Number])
	}
	return nil
}

func (s *Scope) possibleOfAll(kids []Node, positive bool, columns []bitset.Set) bitset.Set {
	if !positive {
		return s.combinePossible(kids, positive, columns, bitset.Union, emptyColumn(columns))
	}
	return s.combinePossible(kids, positive, columns, bitset.Intersection, nil)
}

func (s *Scope) possibleOfAny(kids []Node, positive bool, columns []bitset.Set) bitset.Set {
	if !positive {
		return s.combinePossible(kids, positive, columns, bitset.Intersection, nil)
	}
	return s.combinePossible(kids, positive, columns, bitset.Union, emptyColumn(columns))
}

func (s *Scope) combinePossible(kids []Node, positive bool, columns []bitset.Set, f func(a, b bitset.Set) bitset.Set, start bitset.Set) bitset.Set {
	out := start
	for _, k := range kids {
		out = f(out, s.possiblePlaces(k, positive, columns))
	}
	return out
}

// emptyColumn returns an empty set of places, which is the last column.
func emptyColumn(columns []bitset.Set) bitset.Set { return columns[len(columns)-1] }
