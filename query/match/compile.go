package match

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-enry/go-enry/v2"
	"github.com/wasilibs/go-re2"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/identifier"
	"github.com/quarrysearch/quarry/query/match/internal/scan"
	"github.com/quarrysearch/quarry/query/plan"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// A Node is a part of a compiled query. The pointer types below implement it.
type Node interface{}

type (
	andNode   struct{ children []Node }
	orNode    struct{ children []Node }
	notNode   struct{ child Node }
	constNode struct{ value bool }
	// atomNode is a pattern in the text or the symbols of a document.
	atomNode struct{ *Atom }
	// placeNode is a predicate on a place.
	placeNode struct{ *Predicate }
)

// An Atom is a pattern that the index helps to find.
type Atom struct {
	number  int
	pattern *plan.Pattern
	Symbols bool // searches the symbol text
	label   string
	leaf    syntax.Query
	// Literal is the literal as written, in its letter case; empty for any other
	// expression.
	Literal string
	// points are those of its leaf in Options.LeafPoints.
	points float32
	// kinds, lines and parent are conditions on the atom's matches.
	kinds  []syntax.Kinds
	lines  []lineCondition
	parent string
	// existenceOnly means that the search needs to know only whether there is a match, which
	// the answer does not show.
	existenceOnly bool
	// isCondition means that it is a condition on files, which is no term of the query.
	isCondition bool
	// re2 scans text for a pattern that has no useful literal and no run. It is a
	// deterministic automaton, several times as fast for this as package regexp. It is
	// nil if the pattern has a literal, the program is large, or RE2 rejects it.
	re2 *re2.Regexp
}

// minHintBytes is the literal length below which nearly every line contains the literal.
// Such a pattern is searched as if it had no literal.
const minHintBytes = 2

// A Predicate is a condition on a column of places.
type Predicate struct {
	Number int
	Leaf   syntax.Query // as written in the query
	// Negated means that the query excludes the documents of the predicate. Optional
	// means that there may be matches which the predicate does not select, because it is
	// part of an or or below a negation.
	Negated, Optional bool
	// Name is the pattern of repo:.
	Name *regexp.Regexp
	// LanguageName is the name of language; empty if the language is unknown.
	LanguageName string
	// Exactly one of these is set.
	Repo     func(*corpus.Repository) bool
	Language map[string]bool // lower-case names
	Path     *plan.Pattern
	Ref      func(*corpus.Repository, code.Ref) bool
	Place    func(seg corpus.Segment, place int) bool
	// owned decides for a path of a repository. It is slow, so it is evaluated for single
	// places rather than for all places of a segment.
	owned func(r *corpus.Repository, path []byte) bool
}

// Query is a tree over numbered atoms and predicates.
type Query struct {
	Root       Node
	Atoms      []*Atom
	Predicates []*Predicate
	Revisions  bool // some predicate applies to refs
	// refs select the refs that the query covers. everyRef means that one of them is
	// negated, so that it excludes refs from all refs.
	refs          []func(*corpus.Repository, code.Ref) bool
	everyRef      bool
	negations     int // enclosing the node that is being compiled
	choices       int // ors enclosing it
	SelectKind    syntax.SelectKind
	contexts      map[string]corpus.Context
	namedContexts []namedContext // search contexts that the query names
	public        func(*code.Repository) bool
	Literals      []string // the atoms that find matches, as literals, as written
	Joined        string   // letters and digits of Literals, if several words may form one identifier
	// meansDefinitions means that the query means definitions before text.
	meansDefinitions bool
}

// Options are what a query is compiled with.
type Options struct {
	Query *syntax.Parsed
	// Contexts are the known search contexts, and Public the repositories that
	// visibility:public selects; nil for those that are not private.
	Contexts map[string]corpus.Context
	Public   func(*code.Repository) bool
	// LeafPoints are points by the text of a leaf, for the score of a file that it matches.
	LeafPoints map[string]float32
	// MeansDefinitions means that the query means definitions before text.
	MeansDefinitions bool
}

// Compile compiles a parsed query.
func Compile(o Options) (*Query, error) {
	p := o.Query
	c := &Query{contexts: o.Contexts, Revisions: syntax.HasRevision(p.Root), SelectKind: selectKindOf(p), public: o.Public}
	if c.public == nil {
		c.public = func(r *code.Repository) bool { return !r.Private }
	}
	c.nameRefs(p.Root, false)
	tree := syntax.Simplify(p.Root)
	if c.SelectKind == syntax.SelectSymbol {
		tree = withSymbols(tree)
	}
	root, err := c.compileNode(tree)
	c.Root = root
	c.Joined, c.meansDefinitions = joinWords(c.Literals), o.MeansDefinitions
	for _, a := range c.Atoms {
		a.points = o.LeafPoints[a.label]
	}
	return c, err
}

// maxJoinedWords bounds the number of terms that may form one identifier.
const maxJoinedWords = 8

// joinWords returns the letters and digits of the terms in lower case if the terms may
// form one identifier, or an empty string.
func joinWords(terms []string) string {
	if len(terms) < 2 || len(terms) > maxJoinedWords {
		return ""
	}
	joined := strings.Join(terms, "")
	for i := range len(joined) {
		if c := joined[i]; !identifier.IsWordByte(c) || c >= 0x80 {
			return ""
		}
	}
	return strings.ToLower(strings.ReplaceAll(joined, "_", ""))
}

func (c *Query) compileNode(q syntax.Query) (Node, error) {
	switch q := q.(type) {
	case *syntax.And:
		kids, err := c.compileNodes(q.Children)
		return &andNode{kids}, err
	case *syntax.Or:
		c.choices++
		kids, err := c.compileNodes(q.Children)
		c.choices--
		return &orNode{kids}, err
	case *syntax.Not:
		c.negations++
		kid, err := c.compileNode(q.Child)
		c.negations--
		return &notNode{kid}, err
	case *syntax.Const:
		return &constNode{q.Value}, nil
	case *syntax.Text:
		return c.compileText(q)
	case *syntax.FileHas:
		p, err := plan.Regexp(q.Pattern, q.Case != syntax.CaseYes)
		return c.addAtom(p, false, q, plan.WrittenLiteral(q.Pattern)), err
	case *syntax.Symbol:
		p, err := plan.Regexp(q.Pattern, q.Case != syntax.CaseYes)
		a := c.addAtom(p, true, q, plan.WrittenLiteral(q.Pattern))
		a.parent = q.Parent
		return c.addConditions(a, q.Kinds, q.Lines, err)
	case *syntax.File:
		p, err := plan.Path(q.Pattern, q.Case != syntax.CaseYes)
		return c.addPredicate(q, &Predicate{Path: p}), err
	case *syntax.Language:
		names, full := languageNames(q.Name)
		return c.addPredicate(q, &Predicate{Language: names, LanguageName: full}), nil
	case *syntax.Revision:
		return c.addPredicate(q, &Predicate{Ref: refMatcher(q)}), nil
	case *syntax.Owned:
		if !q.Known {
			return nil, fmt.Errorf("the rules of %s are not known", q)
		}
		return c.addPredicate(q, &Predicate{owned: isOwned(q, c.negations%2 == 1)}), nil
	case *syntax.Is:
		return c.addPredicate(q, &Predicate{Place: TraitOf(q.Trait)}), nil
	}
	return c.compileRepositoryFilter(q)
}

func (c *Query) compileNodes(qs []syntax.Query) ([]Node, error) {
	kids := make([]Node, 0, len(qs))
	for _, q := range qs {
		n, err := c.compileNode(q)
		if err != nil {
			return nil, err
		}
		kids = append(kids, n)
	}
	// Evaluate kids that need no text first.
	slices.SortStableFunc(kids, func(a, b Node) int { return cmp.Compare(evalCost(a), evalCost(b)) })
	return kids, nil
}

// evalCost returns 1 for a node that reads text and 0 for one that does not.
func evalCost(n Node) int {
	switch n := n.(type) {
	case *atomNode:
		return 1
	case *notNode:
		return evalCost(n.child)
	case *andNode:
		return maxEvalCost(n.children)
	case *orNode:
		return maxEvalCost(n.children)
	}
	return 0
}

func maxEvalCost(kids []Node) int {
	if slices.ContainsFunc(kids, func(k Node) bool { return evalCost(k) > 0 }) {
		return 1
	}
	return 0
}

func (c *Query) compileText(q *syntax.Text) (Node, error) {
	fold := q.Case != syntax.CaseYes
	if !q.Regexp {
		return c.addConditions(c.addAtom(plan.Literal(q.Pattern, fold), false, q, q.Pattern), nil, q.Lines, nil)
	}
	p, err := plan.Regexp(q.Pattern, fold)
	return c.addConditions(c.addAtom(p, false, q, plan.WrittenLiteral(q.Pattern)), nil, q.Lines, err)
}

func (c *Query) addAtom(p *plan.Pattern, symbols bool, q syntax.Query, written string) *atomNode {
	a := &Atom{number: len(c.Atoms), pattern: p, Symbols: symbols, label: q.String(), leaf: q, Literal: written}
	_, a.isCondition = q.(*syntax.FileHas)
	a.existenceOnly = a.isCondition || c.negations > 0 || c.EntriesOnly()
	if p != nil && !p.Exact && p.ShortestLiteral() < minHintBytes && p.Run.Bytes == 0 {
		a.re2 = scan.CompileRE2(p.Expression)
	}
	c.Atoms = append(c.Atoms, a)
	if written != "" && !a.existenceOnly {
		c.Literals = append(c.Literals, written)
	}
	return &atomNode{a}
}

func (c *Query) addPredicate(leaf syntax.Query, p *Predicate) Node {
	p.Number, p.Leaf = len(c.Predicates), leaf
	p.Negated, p.Optional = c.negations%2 == 1, c.negations+c.choices > 0
	c.Predicates = append(c.Predicates, p)
	return &placeNode{p}
}

// compileRepositoryFilter compiles a filter that depends only on the repository.
func (c *Query) compileRepositoryFilter(q syntax.Query) (Node, error) {
	p, err := c.newRepositoryFilter(q)
	if err != nil {
		return nil, err
	}
	return c.addPredicate(q, p), nil
}

func (c *Query) newRepositoryFilter(q syntax.Query) (*Predicate, error) {
	p := &Predicate{}
	switch q := q.(type) {
	case *syntax.Repo:
		flags := "(?i)"
		if q.Case == syntax.CaseYes {
			flags = ""
		}
		re, err := regexp.Compile(flags + q.Pattern)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", plan.ErrPattern, err)
		}
		matches := nameFilter(re, q.Pattern, flags != "")
		p.Repo = func(r *corpus.Repository) bool {
			return matches(r.Name) || r.DisplayName != "" && matches(r.DisplayName)
		}
		p.Name = re
	case *syntax.RepoSet:
		names := map[string]bool{}
		for _, n := range q.Names {
			names[n] = true
		}
		p.Repo = func(r *corpus.Repository) bool { return names[r.Name] }
	case *syntax.Archived:
		p.Repo = inclusionFilter(q.Want, func(r *corpus.Repository) bool { return r.Archived })
	case *syntax.Fork:
		p.Repo = inclusionFilter(q.Want, func(r *corpus.Repository) bool { return r.Fork })
	case *syntax.Visibility:
		p.Repo = func(r *corpus.Repository) bool {
			return q.Want == syntax.Any || c.public(&r.Repository) == (q.Want == syntax.Public)
		}
	case *syntax.RepoHas:
		if !q.Known {
			return nil, fmt.Errorf("the repositories of %s are not known", q)
		}
		p.Repo = holdsFor(q, c.negations%2 == 1)
	case *syntax.Context:
		if q.Means != nil {
			var err error
			p.Repo, err = c.compileMeaning(q.Means)
			return p, err
		}
		holds, ok := c.contexts[q.Name]
		if !ok {
			return nil, &contextError{name: q.Name}
		}
		c.namedContexts = append(c.namedContexts, namedContext{q.Name, holds})
		p.Repo = func(r *corpus.Repository) bool { return holds(r.Name) }
	default:
		return nil, fmt.Errorf("query node %T is not supported", q)
	}
	return p, nil
}

// compileMeaning returns whether a repository satisfies the filters that a saved search context
// stands for. They are one predicate, as the name is one filter of the query.
func (c *Query) compileMeaning(q syntax.Query) (func(*corpus.Repository) bool, error) {
	var operands []syntax.Query
	isAnd := true
	switch q := q.(type) {
	case *syntax.And:
		operands = q.Children
	case *syntax.Or:
		operands, isAnd = q.Children, false
	case *syntax.Not:
		holds, err := c.compileMeaning(q.Child)
		return func(r *corpus.Repository) bool { return !holds(r) }, err
	default:
		p, err := c.newRepositoryFilter(q)
		if err != nil {
			return nil, err
		}
		return p.Repo, nil
	}
	all := make([]func(*corpus.Repository) bool, len(operands))
	for i, operand := range operands {
		var err error
		if all[i], err = c.compileMeaning(operand); err != nil {
			return nil, err
		}
	}
	return func(r *corpus.Repository) bool {
		for _, holds := range all {
			if holds(r) != isAnd {
				return !isAnd
			}
		}
		return isAnd
	}, nil
}

func inclusionFilter(want syntax.Inclusion, has func(*corpus.Repository) bool) func(*corpus.Repository) bool {
	switch want {
	case syntax.No:
		return func(r *corpus.Repository) bool { return !has(r) }
	case syntax.Only:
		return has
	}
	return func(*corpus.Repository) bool { return true }
}

// languageNames returns the names under which documents of a language are stored: the
// name as written, and the name that an alias stands for or, if the name is no alias, the
// names of the languages whose files have that extension. It also returns the display
// names, or an empty string if there are none.
func languageNames(name string) (names map[string]bool, full string) {
	lower := strings.TrimPrefix(strings.ToLower(name), ".")
	names = map[string]bool{strings.ToLower(name): true}
	var languages []string
	if alias, ok := enry.GetLanguageByAlias(lower); ok {
		languages = []string{alias}
	} else if lower != "" && !strings.ContainsAny(lower, "./\\") {
		languages = enry.GetLanguagesByExtension("file."+lower, nil, nil)
	}
	for _, language := range languages {
		names[strings.ToLower(language)] = true
	}
	return names, strings.Join(languages, " or ")
}

// refMatcher returns a function that selects refs by the pattern of a Revision.
func refMatcher(q *syntax.Revision) func(*corpus.Repository, code.Ref) bool {
	pattern := q.Pattern
	switch {
	case q.Exact:
		return func(_ *corpus.Repository, ref code.Ref) bool { return string(ref) == pattern || ref.Short() == pattern }
	case pattern == syntax.AllRevisions:
		return func(_ *corpus.Repository, ref code.Ref) bool { return !ref.IsPin() }
	case pattern == syntax.DefaultRevision:
		return func(r *corpus.Repository, ref code.Ref) bool { return ref == r.DefaultRef() }
	}
	return func(_ *corpus.Repository, ref code.Ref) bool {
		if ref.IsPin() {
			return namesPin(pattern, ref)
		}
		return strings.Contains(string(ref), pattern)
	}
}

// minPinPrefix is the length of the shortest abbreviated commit that selects a pin.
const minPinPrefix = 7

// namesPin reports whether a pattern is the full name of a pin, or its commit, perhaps
// abbreviated. Other patterns select no pins: old versions would otherwise appear in
// answers about branches.
func namesPin(pattern string, pin code.Ref) bool {
	return code.Ref(pattern) == pin || len(pattern) >= minPinPrefix && strings.HasPrefix(pin.Short(), strings.ToLower(pattern))
}

// AnyRef reports whether places on a ref can affect the query.
func (c *Query) AnyRef(r *corpus.Repository, ref code.Ref) bool {
	if c.everyRef && !ref.IsPin() {
		return true
	}
	return slices.ContainsFunc(c.refs, func(has func(*corpus.Repository, code.Ref) bool) bool { return has(r, ref) })
}

// nameRefs collects the refs that a query covers. Every filter that names refs counts,
// even one that does not decide the result.
func (c *Query) nameRefs(q syntax.Query, negated bool) {
	syntax.Walk(q, func(q syntax.Query) bool {
		switch q := q.(type) {
		case *syntax.Revision:
			c.refs = append(c.refs, refMatcher(q))
			c.everyRef = c.everyRef || negated
		case *syntax.Not:
			c.nameRefs(q.Child, true)
			return false
		}
		return true
	})
}
