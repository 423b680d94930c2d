package syntax

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Parse parses a query. The error is always an *Error.
//
// If this language refuses a query that the established server accepts, Parse reads it as
// that server does. If a query means something else there, Parse adds a notice with the
// query to write for that meaning.
func Parse(text string, o Options) (*Parsed, error) {
	p := &parser{scanner: newScanner(text, o.Regexp), o: o}
	parsed, err := p.parse()
	if err == nil {
		p.noticeDifference(parsed)
	} else if parsed = p.acceptEstablished(err); parsed == nil {
		return nil, err
	}
	slices.SortStableFunc(p.notices, func(a, b Notice) int {
		return cmp.Or(cmp.Compare(a.At.Start, b.At.Start), cmp.Compare(a.At.End, b.At.End))
	})
	parsed.Notices = p.notices
	return parsed, nil
}

// parser parses one query. The counters are compared with the Max constants.
type parser struct {
	scanner
	o            Options
	terms        int
	instructions int
	classes      int
	predicates   int
	notices      []Notice
	additions    []addition
	kind         TypeKind       // of the query, once parsed
	bare         map[Query]bool // terms without a keyword: type: applies to them
}

// operator is an operator word between operands; zero means none.
type operator uint8

const (
	opAnd operator = iota + 1
	opOr
	opNot
)

// operatorOf returns the operator that a word may be. Upper case counts as well: users
// who write OR want the operator far more often than the word, and would otherwise get no
// results without an explanation.
func operatorOf(word string) operator {
	switch word {
	case "and", "AND":
		return opAnd
	case "or", "OR":
		return opOr
	case "not", "NOT":
		return opNot
	}
	return 0
}

// item is a token of a group: an operand, or a word that may be an operator.
type item struct {
	query    Query
	operator operator // of a bare word that may be one; query holds the word as a term
	empty    bool     // the query is a bare "()"
	grouped  bool     // the query is in parentheses
	settings settings // of a group
	at       Span
}

// settings are the type:, select: and case: filters of a group.
type settings struct {
	kind    TypeKind
	sel     SelectKind
	letters string // value of case:, empty if not given
	at      Span   // of the last setting
}

func (s settings) areQueryWide() bool { return s.kind != TypeDefault || s.sel != SelectDefault }

// group is the content of parentheses, or the whole query.
type group struct {
	items    []item
	settings settings
	at       Span
}

func (p *parser) newError(position int, message, advice string) *Error {
	return newError(p.text, position, message, advice)
}

func (p *parser) parse() (*Parsed, *Error) {
	if err := p.checkText(); err != nil {
		return nil, err
	}
	root, set, err := p.parseGroup(0, len(p.text), 0)
	if err != nil {
		return nil, err
	}
	p.noticeUnclosed()
	p.resolveDefaults(root)
	p.kind = set.kind
	root = p.bindConditions(root)
	return &Parsed{Root: p.retargetTerms(root, set.kind), Type: set.kind, Select: set.sel, Text: p.text, Options: p.o}, nil
}

func (p *parser) checkText() *Error {
	if len(p.text) > MaxQueryBytes {
		return p.newError(MaxQueryBytes, fmt.Sprintf("the query is longer than %d bytes", MaxQueryBytes), "Search for a shorter part of it.")
	}
	for i, r := range p.text {
		if r == utf8.RuneError && !strings.HasPrefix(p.text[i:], "\uFFFD") {
			return p.newError(i, "the query is not valid UTF-8", `Write bytes as a regular expression: \x{e9}.`)
		}
	}
	if p.skipBlanks(0, len(p.text)) == len(p.text) {
		return p.newError(0, "the query is empty", "Write a term, or a filter such as repo:name.")
	}
	return nil
}

// parseGroup reads the tokens of a range and builds their tree. It returns the settings that belong to the whole query.
func (p *parser) parseGroup(start, end, depth int) (Query, settings, *Error) {
	g := group{at: Span{start, end}}
	for i := p.skipBlanks(start, end); i < end; i = p.skipBlanks(i, end) {
		next, err := p.parseToken(&g, i, end, depth)
		if limit := p.checkLimits(i); limit != nil {
			err = limit // it explains other errors as well
		}
		if err != nil {
			return nil, settings{}, err
		}
		i = next
	}
	return p.buildTree(&g, depth)
}

func (p *parser) checkLimits(i int) *Error {
	switch {
	case p.terms > MaxTerms:
		return p.newError(i, fmt.Sprintf("the query has more than %d terms", MaxTerms), "Join alternatives into one regular expression: (a|b|c).")
	case p.tooDeepAt >= 0:
		return p.tooDeep(p.tooDeepAt)
	case p.isExhausted():
		return p.newError(i, "the brackets of the query are too complex", "Put text with many brackets in quotes.")
	}
	return nil
}

func (p *parser) tooDeep(i int) *Error {
	return p.newError(i, fmt.Sprintf("the query nests deeper than %d levels", MaxDepth), "Remove parentheses, or put the text in quotes.")
}

// parseToken reads the token at i into g and returns its end.
func (p *parser) parseToken(g *group, i, end, depth int) (int, *Error) {
	if f, v := p.filterToken(i, end); f != nil && f.value == valueSetting {
		next, err := p.parseSetting(&g.settings, f, i, v, end)
		p.addAddition(Span{i, next}, additionFilter)
		return next, err
	}
	var it item
	next, err := 0, (*Error)(nil)
	if operand := p.negationOperand(i, end); operand >= 0 {
		it, next, err = p.parseNegated(i, operand, end, depth)
	} else {
		it, next, err = p.parseOperand(i, end, depth)
		if err == nil && p.text[i] != '"' {
			it.operator = operatorOf(p.text[i:next])
		}
	}
	it.at = Span{i, next}
	g.items = append(g.items, it)
	return next, err
}

// negationOperand returns the position of the operand of a minus at i, or -1 if there is
// none. Arrows, decrements, long options and numbers are text. A blank may follow the
// minus only before a filter: a lone minus is frequent in code.
func (p *parser) negationOperand(i, end int) int {
	if p.text[i] != '-' || i+1 == end {
		return -1
	}
	switch c := p.text[i+1]; {
	case c == '-', c == '>', c == '=', isDigit(c):
		return -1
	case isBlank(c):
		next := p.skipBlanks(i+1, end)
		if f, _ := p.filterToken(next, end); f == nil {
			return -1
		}
		return next
	}
	return i + 1
}

func (p *parser) parseNegated(i, operand, end, depth int) (item, int, *Error) {
	if f, _ := p.filterToken(operand, end); f != nil && f.value == valueSetting {
		return item{}, 0, p.newError(i, f.name+": cannot be negated", wordAdvice(f, f.name, f.words[0]))
	}
	it, next, err := p.parseOperand(operand, end, depth+1)
	if err != nil {
		return it, next, err
	}
	if it.settings.areQueryWide() {
		return it, next, p.settingInside(it.settings)
	}
	if f, _ := p.filterToken(operand, end); f == nil && !it.grouped {
		p.addAddition(Span{i, next}, additionMinus)
	}
	return item{query: negateQuery(it.query, Span{i, next})}, next, nil
}

// negateQuery folds constants, so that -() is true and not a negated false.
func negateQuery(q Query, at Span) Query {
	if c, ok := q.(*Const); ok {
		return &Const{Value: !c.Value, At: at}
	}
	return &Not{Child: q, At: at}
}

// parseOperand reads a group, a quoted string, a filter or a word.
func (p *parser) parseOperand(i, end, depth int) (item, int, *Error) {
	if depth > MaxDepth {
		return item{}, 0, p.tooDeep(i)
	}
	if p.text[i] == '(' {
		if close := p.groupToken(i, end); close >= 0 {
			return p.parseParentheses(i, close, depth)
		}
	}
	if p.text[i] == '"' {
		if close := p.quotedToken(i, end); close >= 0 {
			q, err := p.parseBareTerm(Span{i, close}, Span{i + 1, close - 1}, true)
			return item{query: q}, close, err
		}
	}
	if f, v := p.filterToken(i, end); f != nil {
		q, next, err := p.parseFilter(f, i, v, end)
		if !slices.Contains(establishedKeywords, p.text[i:v-1]) {
			p.addAddition(Span{i, next}, additionFilter)
		}
		return item{query: q}, next, err
	}
	next := p.wordEnd(i, end)
	p.noticeKeyword(i, end)
	q, err := p.parseBareTerm(Span{i, next}, Span{i, next}, false)
	return item{query: q}, next, err
}

// groupToken returns the place of the closing parenthesis if the token at i is a group, or -1.
func (p *parser) groupToken(i, end int) int {
	close := p.groupClose(i, end)
	if close < 0 || !p.endsToken(close+1, end) {
		return -1
	}
	if p.o.Regexp && !p.groupsQueries(i+1, close) {
		return -1
	}
	return close
}

// groupsQueries reports whether a range in parentheses must be a group and cannot be part
// of a regular expression: it is empty, has several tokens, or begins with a filter, a
// quoted string or such a group.
func (p *parser) groupsQueries(start, end int) bool {
	i := p.skipBlanks(start, end)
	if i == end {
		return true
	}
	if operand := p.negationOperand(i, end); operand >= 0 {
		i = operand
	}
	if f, _ := p.filterToken(i, end); f != nil {
		return true
	}
	switch p.text[i] {
	case '"':
		if p.quotedToken(i, end) >= 0 {
			return true
		}
	case '(':
		if p.groupToken(i, end) >= 0 {
			return true
		}
	}
	return p.skipBlanks(p.wordEnd(i, end), end) < end
}

func (p *parser) parseParentheses(i, close, depth int) (item, int, *Error) {
	if p.skipBlanks(i+1, close) == close {
		p.terms++
		return item{query: &Const{At: Span{i, close + 1}}, empty: true, grouped: true}, close + 1, nil
	}
	q, set, err := p.parseGroup(i+1, close, depth+1)
	return item{query: q, settings: set, grouped: true}, close + 1, err
}

// parseBareTerm is parseTerm for a term without a keyword, which type: may apply to.
func (p *parser) parseBareTerm(at, raw Span, quoted bool) (Query, *Error) {
	q, err := p.parseTerm(at, raw, quoted, p.o.Regexp)
	if err != nil {
		return nil, err
	}
	if p.bare == nil {
		p.bare = make(map[Query]bool)
	}
	p.bare[q] = true
	return q, nil
}

// parseTerm returns a Text for the value at raw.
func (p *parser) parseTerm(at, raw Span, quoted, isRegexp bool) (Query, *Error) {
	pattern, err := p.parsePattern(raw, quoted, isRegexp)
	if err != nil {
		return nil, err
	}
	p.terms++
	return &Text{Pattern: pattern, Regexp: isRegexp, At: at}, nil
}

// parsePattern decodes and checks the value at raw.
func (p *parser) parsePattern(raw Span, quoted, isRegexp bool) (string, *Error) {
	text := p.text[raw.Start:raw.End]
	pattern := text
	if quoted {
		pattern = unquoteTerm(text)
	}
	if !isRegexp {
		return pattern, nil
	}
	if offset, err := p.checkedPattern(pattern); err != nil {
		if quoted {
			offset = rawOffset(text, offset)
		} else if offset == 0 {
			err.Advice = p.adviseBlank(raw, err.Advice)
		}
		return "", p.newError(raw.Start+offset, err.Message, err.Advice)
	}
	return pattern, nil
}

// checkedPattern checks a regular expression and counts it. The error has no position;
// offset is the place in the expression.
func (p *parser) checkedPattern(pattern string) (offset int, err *Error) {
	if p.classes += unicodeClasses(pattern); p.classes > MaxUnicodeClasses {
		return 0, &Error{Message: fmt.Sprintf(`the query has more than %d \p classes`, MaxUnicodeClasses), Advice: "Use each class only once."}
	}
	size, fault := regexpSize(pattern, MaxRegexpInstructions)
	if fault != nil {
		return fault.position, &Error{Message: fault.message, Advice: fault.advice}
	}
	if p.instructions += size; p.instructions > MaxRegexpInstructions {
		return 0, &Error{Message: "the regular expressions of the query are too large", Advice: "Use fewer repetitions or fewer alternatives."}
	}
	return 0, nil
}

// parseFilter reads the value at v of a filter whose keyword begins at i.
func (p *parser) parseFilter(f *filter, i, v, end int) (Query, int, *Error) {
	if kind, open := p.predicateAt(f, v, end); kind != 0 {
		if next := p.predicateEnd(open, end); next > 0 {
			q, err := p.parsePredicate(f, kind, i, open, next)
			return q, next, err
		}
	}
	next, raw, quoted, err := p.findValue(f, v, end)
	if err != nil {
		return nil, 0, err
	}
	at := Span{i, next}
	switch f.value {
	case valueTerm:
		q, err := p.parseTerm(at, raw, quoted, p.o.Regexp)
		return q, next, err
	case valueLiteral, valuePattern:
		q, err := p.parseTerm(at, raw, quoted, f.value == valuePattern)
		return q, next, err
	case valueWord, valueWords:
		if word := p.text[raw.Start:raw.End]; !f.allowsValue(word) {
			return nil, 0, p.badWord(f, i, v, word)
		}
	}
	pattern, err := p.filterPattern(f, at, raw, quoted)
	if err != nil {
		return nil, 0, err
	}
	p.terms++
	if f == filterRepo && !quoted {
		p.noticeRepoRevision(at, p.text[raw.Start:raw.End])
	}
	if !quoted {
		p.noticeForeignValue(f.name, at, p.text[raw.Start:raw.End])
	}
	q := f.newLeaf(pattern, at)
	if q == nil {
		return nil, 0, p.newError(v, f.name+": has no value", "Write "+f.wanted+" after the colon.")
	}
	return q, next, nil
}

// filterPattern decodes and checks the value of a filter. A value of a filter on names or
// paths that looks like a glob is read as a glob.
func (p *parser) filterPattern(f *filter, at, raw Span, quoted bool) (string, *Error) {
	value := p.text[raw.Start:raw.End]
	if !f.takesGlobs || quoted || !isGlob(value) {
		return p.parsePattern(raw, quoted, f.value == valueRegexp)
	}
	pattern, fault := GlobRegexp(value)
	if fault != nil {
		return "", p.newError(raw.Start, shortenPattern(value)+" is not a valid glob: "+fault.Error(), "To use a regular expression, put the value in quotes.")
	}
	if _, err := p.checkedPattern(pattern); err != nil {
		return "", p.newError(raw.Start, err.Message, err.Advice)
	}
	message := p.showSpan(at) + " is read as a glob."
	if _, invalid := regexpSize(value, MaxRegexpInstructions); invalid == nil {
		message += fmt.Sprintf(" To use a regular expression, put it in quotes: %s:%s.", f.name, showOnLine(quoteTerm(value)))
	}
	p.noticeAmbiguous(at, message)
	return pattern, nil
}

// findValue finds the value at v. It returns the end of the token and the range of the
// value.
func (p *parser) findValue(f *filter, v, end int) (next int, raw Span, quoted bool, err *Error) {
	if p.text[v] == '"' {
		close := p.quoteEnd(v, end)
		if close < 0 {
			return 0, raw, false, p.newError(v, "the quote is not closed", `Close it with ", or write \" for the character.`)
		}
		if close == v+2 && f != filterLanguage { // lang:"" selects files of no known language
			return 0, raw, false, p.newError(v, f.name+": has no value", "Write "+f.wanted+" in the quotes.")
		}
		return close, Span{v + 1, close - 1}, true, nil
	}
	next = p.runEnd(v, end)
	if f.isRegexp(p.o.Regexp) {
		whole := p.regexpEnd(v, end, false)
		if whole > next && f.value == valueRegexp {
			return 0, raw, false, p.newError(next, f.name+": has a blank in its value",
				fmt.Sprintf(`Put the value in quotes: %s:"a b". Alternatives are written (a|b).`, f.name))
		}
		next = whole
	}
	return next, Span{v, next}, false, nil
}

// parseSetting reads case:, type: or select:.
func (p *parser) parseSetting(s *settings, f *filter, i, v, end int) (int, *Error) {
	next := p.runEnd(v, end)
	word := p.text[v:next]
	if !f.allowsValue(word) {
		return 0, p.badWord(f, i, v, word)
	}
	add := settings{at: Span{i, next}}
	switch f {
	case filterCase:
		add.letters = word
	case filterType:
		add.kind = TypeKind(indexOf(typeWords[:], word))
	case filterSelect:
		add.sel = SelectKind(indexOf(selectWords[:], word))
	}
	return next, p.mergeSettings(s, add)
}

// mergeSettings merges settings of the same scope, which must not contradict each other.
func (p *parser) mergeSettings(s *settings, add settings) *Error {
	kind := s.kind != TypeDefault && add.kind != TypeDefault && s.kind != add.kind
	sel := s.sel != SelectDefault && add.sel != SelectDefault && s.sel != add.sel
	letters := s.letters != "" && add.letters != "" && s.letters != add.letters
	if kind || sel || letters {
		return p.newError(add.at.Start, p.text[add.at.Start:add.at.End]+" contradicts an earlier setting", "Keep one of the two.")
	}
	s.kind = max(s.kind, add.kind)
	s.sel = max(s.sel, add.sel)
	s.letters = max(s.letters, add.letters)
	s.at = add.at
	return nil
}

func (p *parser) settingInside(s settings) *Error {
	return p.newError(s.at.Start, "type: and select: apply to the whole query, not to a part of it",
		"Move it out of the parentheses, to the beginning of the query.")
}
