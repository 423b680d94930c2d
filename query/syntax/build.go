package syntax

// buildTree builds the tree of a group from its items. Blanks and "and" bind more tightly
// than "or", and negation binds most tightly.
func (p *parser) buildTree(g *group, depth int) (Query, settings, *Error) {
	if len(g.items) == 0 {
		return p.buildEmpty(g)
	}
	p.textOfEmpty(g.items)
	if depth > 0 {
		p.noticeOperatorAtEdge(g.items)
	}
	b := treeBuilder{p: p, items: g.items, depth: depth}
	q, err := b.readOr()
	if err != nil {
		return nil, settings{}, err
	}
	for _, it := range g.items {
		if !it.settings.areQueryWide() {
			continue
		}
		if b.arms > 1 || b.nots > 0 {
			return nil, settings{}, p.settingInside(it.settings)
		}
		if err := p.mergeSettings(&g.settings, it.settings); err != nil {
			return nil, settings{}, err
		}
	}
	if g.settings.letters != "" {
		resolveCases(q, g.settings.letters, g.settings.letters)
	}
	return q, settings{kind: g.settings.kind, sel: g.settings.sel, at: g.settings.at}, nil
}

// buildEmpty builds the tree of a group with nothing but settings: type:repo alone means
// every repository.
func (p *parser) buildEmpty(g *group) (Query, settings, *Error) {
	if !g.settings.areQueryWide() {
		return nil, settings{}, p.newError(g.settings.at.Start, "case: has no term next to it", "Add a term or a filter in the same parentheses.")
	}
	return &Const{Value: true, At: g.at}, g.settings, nil
}

// textOfEmpty turns "()" next to other tokens into the two literal characters, as in
// code. As a regular expression they would match the empty text, which is useless, too.
func (p *parser) textOfEmpty(items []item) {
	if p.o.Regexp || len(items) == 1 {
		return
	}
	for i, it := range items {
		if it.empty {
			at := it.query.Span()
			items[i].query = &Text{Pattern: p.text[at.Start:at.End], At: at}
		}
	}
}

// treeBuilder reads the items of a group from left to right.
type treeBuilder struct {
	p     *parser
	items []item
	next  int
	depth int
	arms  int // operands of or
	nots  int // negations by the word not
}

func (b *treeBuilder) readOr() (Query, *Error) {
	var arms []Query
	for {
		arm, err := b.readAnd()
		if err != nil {
			return nil, err
		}
		arms = append(arms, arm)
		if b.next == len(b.items) {
			break
		}
		b.addOperator(b.next)
		b.next++
	}
	b.arms = len(arms)
	if len(arms) == 1 {
		return arms[0], nil
	}
	b.p.noticeScope(arms)
	return &Or{Children: arms, At: spanOf(arms)}, nil
}

// readAnd reads operands up to an or, and stops at the or.
func (b *treeBuilder) readAnd() (Query, *Error) {
	var operands []Query
	for b.next < len(b.items) {
		op := b.nextOperator(len(operands) > 0)
		if op == opOr {
			break
		}
		if op == opAnd {
			b.addOperator(b.next)
			b.next++
		}
		q, err := b.readOperand()
		if err != nil {
			return nil, err
		}
		operands = append(operands, q)
	}
	if len(operands) == 1 {
		return operands[0], nil
	}
	return &And{Children: operands, At: spanOf(operands)}, nil
}

// addOperator records an operator that the established server does not support.
func (b *treeBuilder) addOperator(i int) {
	if at := b.items[i].at; b.p.text[at.Start:at.End] != "or" {
		b.p.addAddition(at, additionOperator)
	}
}

// nextOperator reports whether the next item is an and or an or between operands. Without
// an operand before and after it, the word is a term.
func (b *treeBuilder) nextOperator(afterOperand bool) operator {
	op := b.items[b.next].operator
	if op == opNot || !afterOperand || b.next+1 == len(b.items) {
		return 0
	}
	return op
}

// readOperand reads an operand and any words "not" before it.
func (b *treeBuilder) readOperand() (Query, *Error) {
	start := b.next
	for b.isNot() {
		b.p.addAddition(b.items[b.next].at, additionNot)
		b.next++
	}
	it := b.items[b.next]
	if err := b.checkDoubledOperator(); err != nil {
		return nil, err
	}
	count := b.next - start
	b.nots += count
	if b.depth+count > MaxDepth {
		return nil, b.p.tooDeep(b.items[start].at.Start)
	}
	b.next++
	q := it.query
	for i := count - 1; i >= 0; i-- {
		q = negateQuery(q, Span{b.items[start+i].at.Start, it.at.End})
	}
	return q, nil
}

// isNot reports whether the next item is a not followed by an operand.
func (b *treeBuilder) isNot() bool {
	if b.items[b.next].operator != opNot || b.next+1 == len(b.items) {
		return false
	}
	op := b.items[b.next+1].operator
	return op != opAnd && op != opOr || b.next+2 == len(b.items)
}

// checkDoubledOperator refuses an operator where an operand must follow. A word at the
// very beginning or end is a term.
func (b *treeBuilder) checkDoubledOperator() *Error {
	it := b.items[b.next]
	if b.next == 0 || b.next+1 == len(b.items) || it.operator != opAnd && it.operator != opOr {
		return nil
	}
	word := b.p.text[it.at.Start:it.at.End]
	return b.p.newError(it.at.Start, "two operators in a row", `Remove one, or put "`+word+`" in quotes to search for the word.`)
}

func spanOf(qs []Query) Span {
	return Span{qs[0].Span().Start, qs[len(qs)-1].Span().End}
}

// resolveDefaults gives the leaves without a case: the case of the request. The option
// for terms does not apply to repo:, because repository names are not case-sensitive on
// the usual code hosts.
func (p *parser) resolveDefaults(q Query) {
	terms := "no"
	if p.o.CaseSensitive {
		terms = "yes"
	}
	resolveCases(q, terms, "no")
}

// resolveCases sets the case of the leaves of q that have none yet.
func resolveCases(q Query, terms, repos string) {
	Walk(q, func(q Query) bool {
		switch q := q.(type) {
		case *Text:
			decideCase(&q.Case, terms, q.Pattern, q.Regexp)
		case *File:
			decideCase(&q.Case, terms, q.Pattern, true)
		case *Symbol:
			decideCase(&q.Case, terms, q.Pattern, true)
		case *Line:
			decideCase(&q.Case, terms, q.Pattern, true)
		case *RepoHas:
			decideCase(&q.Case, terms, "(?:"+q.Path+")(?:"+q.Content+")", true)
		case *FileHas:
			decideCase(&q.Case, terms, q.Pattern, true)
		case *Repo:
			decideCase(&q.Case, repos, q.Pattern, true)
		}
		return true
	})
}

func decideCase(c *Case, how, pattern string, isRegexp bool) {
	switch {
	case *c != CaseDefault:
	case how == "yes", how == "auto" && hasUpper(pattern, isRegexp):
		*c = CaseYes
	default:
		*c = CaseNo
	}
}
