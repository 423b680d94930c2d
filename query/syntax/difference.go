package syntax

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
)

// maxSuggestedBytes bounds a query that a notice suggests.
const maxSuggestedBytes = 1024

// addition is a part of a query that is syntax here and text to the established server.
type addition struct {
	at   Span
	kind additionKind
}

type additionKind uint8

const (
	additionMinus    additionKind = iota // before a term
	additionNot                          // the word
	additionOperator                     // and, AND, OR
	additionFilter
	additionPredicate // a filter there, too
)

// additionTexts explain what the part does here and what the established server does with
// it.
var additionTexts = [...]string{
	additionMinus:     "%s excludes files. The established server searches for the text",
	additionNot:       "%s excludes files. The established server searches for the word",
	additionOperator:  "%s is an operator. The established server searches for the word",
	additionFilter:    "%s is a filter. The established server searches for the text",
	additionPredicate: "%s selects by the contents of files. The established server reads it as an expression for names",
}

// addAddition records an addition. One notice lists at most MaxNotices of them.
func (p *parser) addAddition(at Span, kind additionKind) {
	if len(p.additions) < MaxNotices {
		p.additions = append(p.additions, addition{at, kind})
	}
}

// noticeDifference adds a notice if the established server reads the query differently.
func (p *parser) noticeDifference(ours *Parsed) {
	e := newEstablishedParser(p.text, p.o)
	theirs := e.readTree()
	if theirs == nil || meansSame(ours, theirs) || !e.compilesAll(theirs) {
		p.noticeRevisions(ours.Root)
		return
	}
	suggestions := p.suggestQuery(theirs)
	for _, a := range p.additions {
		message := fmt.Sprintf(additionTexts[a.kind], p.showSpan(a.at))
		written := p.text[a.at.Start:a.at.End]
		isWord := p.runEnd(a.at.Start, a.at.End) == a.at.End && !strings.Contains(written, `"`)
		if isWord && a.kind != additionPredicate {
			message += "; write " + showOnLine(quoteTerm(written)) + " to do the same"
		}
		p.addNotice(Notice{Code: DifferentMeaning, At: a.at, Message: message + ".", Suggestions: suggestions})
	}
	if len(p.additions) > 0 {
		return
	}
	at, rest := findDifference(ours.Root, theirs)
	for i, n := range p.notices {
		if n.At.Start < at.End && at.Start < n.At.End {
			p.notices[i].Code, p.notices[i].Suggestions = DifferentMeaning, suggestions
			p.notices[i].Message += " The established server reads the query as " + p.printTrees(conjunctsOf(theirs)) + "."
			return
		}
	}
	message := fmt.Sprintf("The established server does not search for %s.", p.showSpan(at))
	if len(rest) > 0 {
		message = fmt.Sprintf("The established server reads %s as %s.", p.showSpan(at), p.printTrees(rest))
	}
	p.addNotice(Notice{Code: DifferentMeaning, At: at, Message: message, Suggestions: suggestions})
}

// suggestQuery prints a tree as a suggested query in this language.
func (p *parser) suggestQuery(q Query) []string {
	text := Print(q, p.o)
	if len(text) > maxSuggestedBytes {
		return nil
	}
	return []string{text}
}

// printTrees prints trees for a message.
func (p *parser) printTrees(qs []Query) string {
	return showOnLine(Print(joinAnd(qs), p.o))
}

// meansSame reports whether the established server reads the query the same way. It
// ignores the letter case of repo:, which matters only for names that differ in nothing
// else; package search adds that notice.
func meansSame(ours *Parsed, theirs Query) bool {
	return ours.Type == TypeDefault && ours.Select == SelectDefault && sameTree(Simplify(ours.Root), Simplify(theirs))
}

func sameTree(a, b Query) bool {
	switch a := a.(type) {
	case *And:
		b, ok := b.(*And)
		return ok && slices.EqualFunc(a.Children, b.Children, sameTree)
	case *Or:
		b, ok := b.(*Or)
		return ok && slices.EqualFunc(a.Children, b.Children, sameTree)
	case *Not:
		b, ok := b.(*Not)
		return ok && sameTree(a.Child, b.Child)
	case *Text:
		b, ok := b.(*Text)
		return ok && len(a.Lines) == 0 && a.Regexp == b.Regexp && a.Case == b.Case && (a.Pattern == b.Pattern || a.Regexp && sameExpression(a.Pattern, b.Pattern))
	case *File:
		b, ok := b.(*File)
		return ok && a.Case == b.Case && sameExpression(a.Pattern, b.Pattern)
	case *Symbol:
		b, ok := b.(*Symbol)
		return ok && equalConditions(a, b) && a.Case == b.Case && sameExpression(a.Pattern, b.Pattern)
	case *Repo:
		b, ok := b.(*Repo)
		return ok && sameExpression(a.Pattern, b.Pattern)
	}
	return Equal(a, b)
}

// sameExpression reports whether two expressions are the same apart from escapes.
func sameExpression(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := syntax.Parse(a, RegexpFlags)
	y, errY := syntax.Parse(b, RegexpFlags)
	return errX == nil && errY == nil && x.Equal(y)
}

// findDifference returns the part of a query that the established server reads
// differently, and what it reads there: both trees without their common operands at the
// beginning and end.
func findDifference(ours, theirs Query) (Span, []Query) {
	a, b := conjunctsOf(Simplify(ours)), conjunctsOf(Simplify(theirs))
	for len(a) > 0 && len(b) > 0 && sameTree(a[0], b[0]) {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && sameTree(a[len(a)-1], b[len(b)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	at := ours.Span()
	if rest := slices.Concat(a, b); len(rest) > 0 {
		at = rest[0].Span()
		for _, q := range rest {
			at.Start, at.End = min(at.Start, q.Span().Start), max(at.End, q.Span().End)
		}
	}
	return at, b
}

func conjunctsOf(q Query) []Query {
	if and, ok := q.(*And); ok {
		return and.Children
	}
	return []Query{q}
}

// noticeRevisions adds notices about rev: for queries that read alike but search
// different refs: with rev: in only some operands of an or, or twice in a conjunction.
func (p *parser) noticeRevisions(root Query) {
	Walk(root, func(q Query) bool {
		switch q := q.(type) {
		case *Or:
			if n := countRevisions(q.Children); n > 0 && n < len(q.Children) {
				p.noticeRevisionArms(root, q)
			}
		case *And:
			p.noticeRevisionPair(q)
		}
		return true
	})
}

// countRevisions returns how many of the trees contain a rev:.
func countRevisions(qs []Query) int {
	n := 0
	for _, q := range qs {
		if HasRevision(q) {
			n++
		}
	}
	return n
}

func (p *parser) noticeRevisionArms(root Query, or *Or) {
	at := or.Span()
	p.addNotice(Notice{
		Code: DifferentMeaning, At: at, Suggestions: p.suggestQuery(withAllRevisions(root, at)),
		Message: "Operands without rev: are searched only on the branches that rev: selects. The established server searches them on all indexed branches; add rev:* to them to do the same.",
	})
}

// withAllRevisions adds rev:* to the operands of the or at a place that have no rev:.
func withAllRevisions(root Query, at Span) Query {
	return Map(root, func(q Query) Query {
		or, ok := q.(*Or)
		if !ok || or.At != at {
			return q
		}
		arms := slices.Clone(or.Children)
		for i, arm := range arms {
			if !HasRevision(arm) {
				arms[i] = &And{Children: []Query{&Revision{Pattern: AllRevisions}, arm}}
			}
		}
		return &Or{Children: arms, At: at}
	})
}

// noticeRevisionPair adds a notice for two rev: that a ref must both match.
func (p *parser) noticeRevisionPair(and *And) {
	var first *Revision
	for _, q := range and.Children {
		r, ok := q.(*Revision)
		switch {
		case !ok || r.Pattern == AllRevisions:
		case first == nil:
			first = r
		default:
			p.addNotice(Notice{
				Code: DifferentMeaning, At: Span{first.At.Start, r.At.End},
				Message: "A branch must match both rev: filters. The established server finds files that are identical on a branch of each. To search the branches of either, write (rev:a or rev:b).",
			})
			return
		}
	}
}
