package syntax

import (
	"maps"
	"slices"

	"github.com/quarrysearch/quarry/schemas/code"
)

// kindWords maps the values of kind: to the kinds of symbols that each selects, in the
// words of docs/languages.md. Kinds that languages name differently and people do not
// distinguish share one word.
var kindWords = map[string][]code.SymbolKind{
	"accessor":   {"accessor"},
	"alias":      {"alias", "typedef"},
	"annotation": {"annotation"},
	"class":      {"class", "object", "actor"},
	"const":      {"constant"},
	"constant":   {"constant"},
	"enum":       {"enum"},
	"enumerator": {"enumerator"},
	"event":      {"event"},
	"field":      {"field", "member", "property", "accessor"},
	"extension":  {"extension", "category"},
	"func":       {"function", "subroutine", "procedure", "task"},
	"function":   {"function", "subroutine", "procedure", "task"},
	"heading":    {"heading", "chapter", "section", "subsection", "subsubsection"},
	"interface":  {"interface", "protocol"},
	"key":        {"key"},
	"label":      {"label"},
	"macro":      {"macro"},
	"message":    {"message"},
	"member":     {"field", "member", "property", "accessor"},
	"method":     {"method", "methodSpec", "singletonMethod", "rpc", "callback"},
	"module":     {"module", "namespace", "package"},
	"namespace":  {"module", "namespace", "package"},
	"package":    {"module", "namespace", "package"},
	"property":   {"property", "accessor"},
	"protocol":   {"protocol", "interface"},
	"resource":   {"resource", "data"},
	"service":    {"service"},
	"struct":     {"struct", "record"},
	"table":      {"table", "view"},
	"target":     {"target"},
	"test":       {"test"},
	"trait":      {"trait", "mixin"},
	"type": {"type", "struct", "class", "interface", "enum", "union", "trait", "typedef", "alias", "annotation",
		"object", "actor", "protocol", "mixin", "record", "message", "contract", "input", "scalar", "subtype", "exception"},
	"typedef":  {"typedef", "alias"},
	"union":    {"union"},
	"var":      {"variable", "signal", "argument", "local"},
	"variable": {"variable", "signal", "argument", "local"},
}

// KindWords returns the values of kind:, sorted.
func KindWords() []string { return slices.Sorted(maps.Keys(kindWords)) }

// Has reports whether a symbol of a kind meets the condition.
func (k *Kinds) Has(kind code.SymbolKind) bool {
	isOne := slices.ContainsFunc(k.Words, func(word string) bool { return slices.Contains(kindWords[word], kind) })
	return isOne != k.Not
}

// conditions are the kind: and line: filters on the matches of one conjunction.
type conditions struct {
	kinds []Kinds
	lines []Line
}

// bindConditions moves kind: and line: into the patterns that they apply to: those of the
// same conjunction, and of its parentheses that have no such condition. With kind:, terms
// are names of symbols, as with type:symbol. A condition without a pattern applies to
// every symbol, or to every non-empty line.
func (p *parser) bindConditions(q Query) Query {
	found := false
	Walk(q, func(q Query) bool {
		switch q.(type) {
		case *Kinds, *Line:
			found = true
		}
		return !found
	})
	if !found {
		return q
	}
	return p.bindTo(q, conditions{})
}

func (p *parser) bindTo(q Query, c conditions) Query {
	if own, rest := splitConditions(q); len(own.kinds)+len(own.lines) > 0 {
		if len(own.kinds) == 0 {
			own.kinds = c.kinds
		}
		if len(own.lines) == 0 {
			own.lines = c.lines
		}
		return p.bindConjunction(q, rest, own)
	}
	switch q := q.(type) {
	case *And:
		return &And{Children: p.bindAll(q.Children, c), At: q.At}
	case *Or:
		return &Or{Children: p.bindAll(q.Children, c), At: q.At}
	case *Not:
		return &Not{Child: p.bindTo(q.Child, c), At: q.At}
	}
	return p.bindLeaf(q, c)
}

func (p *parser) bindAll(qs []Query, c conditions) []Query {
	out := make([]Query, len(qs))
	for i, q := range qs {
		out[i] = p.bindTo(q, c)
	}
	return out
}

// bindConjunction binds the conditions of a conjunction to its remaining operands.
func (p *parser) bindConjunction(q Query, rest []Query, c conditions) Query {
	bound := p.bindAll(rest, c)
	hasPattern := false
	for _, q := range bound {
		hasPattern = hasPattern || p.hasPattern(q)
	}
	if !hasPattern {
		every := everyMatch(q, &c)
		bound = append(bound, p.bindLeaf(every, c))
	}
	if len(bound) == 1 {
		return bound[0]
	}
	return &And{Children: bound, At: q.Span()}
}

// hasPattern reports whether a tree has a content pattern that is not negated.
func (p *parser) hasPattern(q Query) bool {
	switch q := q.(type) {
	case *Text, *Symbol:
		return !p.isName(q)
	case *And, *Or:
		return slices.ContainsFunc(childrenOf(q), p.hasPattern)
	}
	return false
}

// isName reports whether a leaf is a term that type: turns into the name of a file or a
// repository.
func (p *parser) isName(q Query) bool {
	return p.bare[q] && (p.kind == TypeFile || p.kind == TypeRepo)
}

// everyMatch returns the pattern for conditions without one. If a line must contain
// something, that is the match.
func everyMatch(q Query, c *conditions) Query {
	if len(c.kinds) > 0 {
		return &Symbol{Pattern: ".", Case: CaseNo, At: q.Span()}
	}
	for i, l := range c.lines {
		if !l.Not {
			c.lines = slices.Delete(slices.Clone(c.lines), i, i+1)
			return &Text{Pattern: l.Pattern, Regexp: true, Case: l.Case, At: l.At}
		}
	}
	return &Text{Pattern: ".+", Regexp: true, Case: CaseNo, At: q.Span()}
}

func (p *parser) bindLeaf(q Query, c conditions) Query {
	if p.isName(q) {
		return q
	}
	switch leaf := q.(type) {
	case *Text:
		if len(c.kinds) > 0 && p.bare[q] {
			symbol := asNamePattern(leaf, TypeSymbol).(*Symbol)
			symbol.Kinds, symbol.Lines = c.kinds, c.lines
			return symbol
		}
		if len(c.lines) == 0 {
			return q
		}
		bound := *leaf
		bound.Lines = c.lines
		if p.bare[q] {
			p.bare[&bound] = true
		}
		return &bound
	case *Symbol:
		bound := *leaf
		bound.Kinds, bound.Lines = c.kinds, c.lines
		return &bound
	}
	return q
}

// splitConditions returns the conditions of a conjunction and its other operands. A tree
// that is not a conjunction counts as a conjunction of one operand.
func splitConditions(q Query) (c conditions, rest []Query) {
	operands := conjunctsOf(q)
	for _, operand := range operands {
		if !c.add(operand) {
			rest = append(rest, operand)
		}
	}
	return c, rest
}

// add adds an operand if it is a condition. A choice of kind conditions is one, too.
func (c *conditions) add(q Query) bool {
	switch q := q.(type) {
	case *Kinds:
		c.kinds = append(c.kinds, *q)
		return true
	case *Line:
		c.lines = append(c.lines, *q)
		return true
	case *Not:
		switch child := q.Child.(type) {
		case *Kinds:
			c.kinds = append(c.kinds, Kinds{Words: child.Words, Not: !child.Not, At: q.At})
			return true
		case *Line:
			line := *child
			line.Not, line.At = !child.Not, q.At
			c.lines = append(c.lines, line)
			return true
		}
	case *Or:
		return c.addChoice(q)
	}
	return false
}

func (c *conditions) addChoice(q *Or) bool {
	var words []string
	for _, child := range q.Children {
		kinds, ok := child.(*Kinds)
		if !ok {
			return false
		}
		words = append(words, kinds.Words...)
	}
	c.kinds = append(c.kinds, Kinds{Words: words, At: q.At})
	return true
}
