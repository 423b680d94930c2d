package syntax

import (
	"fmt"
	"slices"
	"strings"
)

// establishedParser reads a query as the server whose API Quarry implements does. It
// follows the observed behavior of that server's version 5.1.9. Parse compares its own
// reading with this one, so that no query means something else here without a notice, and
// uses this one where its own would refuse the query.
//
// The language there is smaller: terms, quoted strings, the filters of
// establishedKeywords, blanks, "or", parentheses, and a minus before a filter or a group.
// Everything else is text.
type establishedParser struct {
	parser      // counts terms and checks expressions
	ok     bool // false once the server refuses the text, or its behavior is unknown
}

// establishedKeywords are the filters that the established server supports.
var establishedKeywords = []string{"file", "f", "repo", "r", "content", "c", "lang", "sym", "rev", "context", "reposet", "archived", "fork", "visibility"}

// readEstablished returns the tree that the established server reads from a text. It
// returns nil if that server refuses the text, if its behavior is unknown, or if the tree
// exceeds our limits.
func readEstablished(text string, o Options) Query {
	e := newEstablishedParser(text, o)
	q := e.readTree()
	if q == nil || !e.compilesAll(q) {
		return nil
	}
	return q
}

func newEstablishedParser(text string, o Options) *establishedParser {
	return &establishedParser{parser: parser{scanner: newScanner(text, o.Regexp), o: o}, ok: true}
}

// readTree reads the tree without checking its expressions, which is the most expensive
// part: if both readings are alike, the expressions have been checked already.
func (e *establishedParser) readTree() Query {
	if e.checkText() != nil {
		return nil
	}
	q := e.readOr(0, len(e.text), 0)
	if !e.ok || e.checkLimits(0) != nil {
		return nil
	}
	e.resolveDefaults(q)
	return q
}

// compilesAll reports whether all expressions of a tree compile within the limits.
func (e *establishedParser) compilesAll(q Query) bool {
	ok := true
	Walk(q, func(q Query) bool {
		if pattern, isRegexp := patternOf(q); isRegexp && ok {
			_, err := e.checkedPattern(pattern)
			ok = err == nil
		}
		return ok
	})
	return ok
}

// patternOf returns the pattern of a leaf and whether it is a regular expression.
func patternOf(q Query) (pattern string, isRegexp bool) {
	switch q := q.(type) {
	case *Text:
		return q.Pattern, q.Regexp
	case *File:
		return q.Pattern, true
	case *Repo:
		return q.Pattern, true
	case *Symbol:
		return q.Pattern, true
	}
	return "", false
}

// acceptEstablished reads a refused query as the established server does, or returns nil
// if that server refuses it, too.
func (p *parser) acceptEstablished(refusal *Error) *Parsed {
	q := readEstablished(p.text, p.o)
	if q == nil {
		return nil
	}
	printed := p.suggestQuery(q)
	at := Span{refusal.Position, p.runEnd(refusal.Position, len(p.text))}
	for at.Start > 0 && !isBlank(p.text[at.Start-1]) {
		at.Start--
	}
	message := fmt.Sprintf("%s. The query is therefore read as on the established server: %s. %s", refusal.Message, p.printTrees(conjunctsOf(q)), refusal.Advice)
	if refusal.corrected != "" {
		printed = append([]string{refusal.corrected}, printed...)
	}
	p.notices = []Notice{{Code: AmbiguousQuery, At: at, Message: message, Suggestions: printed}}
	p.noticeRevisions(q)
	return &Parsed{Root: q, Text: p.text, Options: p.o}
}

// isEstablishedBlank reports whether c separates tokens on the established server.
func isEstablishedBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

func (e *establishedParser) skipBlanks(i, end int) int {
	for i < end && isEstablishedBlank(e.text[i]) {
		i++
	}
	return i
}

func (e *establishedParser) runEnd(i, end int) int {
	for i < end && !isEstablishedBlank(e.text[i]) {
		i++
	}
	return i
}

func (e *establishedParser) refuseQuery() Query {
	e.ok = false
	return &Const{}
}

// readOr reads the operands of an or in a range.
func (e *establishedParser) readOr(i, end, depth int) Query {
	if depth > MaxDepth {
		return e.refuseQuery()
	}
	var arms, operands []Query
	for i = e.skipBlanks(i, end); i < end && e.ok; i = e.skipBlanks(i, end) {
		if e.isOr(i, end) {
			if len(operands) == 0 {
				return e.refuseQuery()
			}
			arms, operands = append(arms, joinAnd(operands)), nil
			i += len("or")
			continue
		}
		var q Query
		q, i = e.readUnit(i, end, depth)
		operands = append(operands, q)
		e.ok = e.ok && e.checkLimits(i) == nil
	}
	if len(operands) == 0 {
		return e.refuseQuery()
	}
	if arms = append(arms, joinAnd(operands)); len(arms) > 1 {
		return &Or{Children: arms, At: spanOf(arms)}
	}
	return arms[0]
}

func joinAnd(operands []Query) Query {
	if len(operands) == 1 {
		return operands[0]
	}
	return &And{Children: operands, At: spanOf(operands)}
}

// isOr reports whether the operator "or" is at i: in lower case, not at the beginning of
// the query, and followed by a character that belongs to no word and by more text.
func (e *establishedParser) isOr(i, end int) bool {
	next := i + len("or")
	if i == 0 || !strings.HasPrefix(e.text[i:end], "or") || e.skipBlanks(next, len(e.text)) == len(e.text) {
		return false
	}
	c := e.text[next]
	return !isLetter(c) && !isDigit(c) && c != '_'
}

// readUnit reads an operand.
func (e *establishedParser) readUnit(i, end, depth int) (Query, int) {
	if e.text[i] == '-' {
		if next := e.skipBlanks(i+1, end); next < end {
			q, after := e.filterOrGroup(next, end, depth)
			if q != nil {
				return negateQuery(q, Span{i, after}), after
			}
		}
	}
	if q, next := e.filterOrGroup(i, end, depth); q != nil {
		return q, next
	}
	if close := e.quotedEnd(i, end); close > 0 {
		return e.newLeaf(filterContent, i, Span{i + 1, close - 1}, close), close
	}
	next := e.runEnd(i, end)
	if e.isCutAtParen(i, next) {
		return e.refuseQuery(), next
	}
	return e.newLeaf(filterContent, i, Span{i, next}, next), next
}

// isCutAtParen reports whether a parenthesis follows the first colon of a word: the
// server refuses foo:(a) as literal text.
func (e *establishedParser) isCutAtParen(i, end int) bool {
	n := strings.IndexByte(e.text[i:end], ':')
	return !e.o.Regexp && n >= 0 && i+n+1 < end && e.text[i+n+1] == '('
}

// filterOrGroup reads the filter or the group at i, or returns nil if there is none.
func (e *establishedParser) filterOrGroup(i, end, depth int) (Query, int) {
	if e.text[i] == '(' {
		close := e.groupEnd(i, end)
		if close < 0 {
			return nil, 0
		}
		if e.skipBlanks(i+1, close) == close {
			e.terms++
			return &Const{At: Span{i, close + 1}}, close + 1
		}
		return e.readOr(i+1, close, depth+1), close + 1
	}
	v := e.keywordEnd(i, end)
	if v < 0 || !slices.Contains(establishedKeywords, e.text[i:v-1]) {
		return nil, 0
	}
	return e.readFilter(keywords[e.text[i:v-1]], i, v, end)
}

// readFilter reads the value of a filter at v. A blank before the value belongs to it.
func (e *establishedParser) readFilter(f *filter, i, v, end int) (Query, int) {
	from := e.skipBlanks(v, end)
	if close := e.quotedEnd(from, end); close > 0 && from == v && !f.isWord() {
		return e.newLeaf(f, i, Span{v + 1, close - 1}, close), close
	}
	next := e.runEnd(from, end)
	value := e.text[from:next]
	switch {
	case value == "", f.isWord() && (from > v || !f.allowsValue(value)):
		return e.refuseQuery(), next
	case value[0] == '(' && strings.Count(value, "(") != strings.Count(value, ")"):
		return e.refuseQuery(), next // a blank is in the parentheses
	case from > v && (value[0] == '"' || value[0] == '('):
		return e.refuseQuery(), next // the server's behavior was not observed
	}
	return e.newLeaf(f, i, Span{v, next}, next), next
}

// newLeaf creates the leaf of a filter or a term whose value is at raw. It does not
// decode escapes in quotes. An empty value restricts nothing.
func (e *establishedParser) newLeaf(f *filter, i int, raw Span, next int) Query {
	at := Span{i, next}
	value := e.text[raw.Start:raw.End]
	e.terms++
	switch {
	case f == filterRepoSet:
		return establishedSet(value, at)
	case value == "" && f == filterContext:
		return e.refuseQuery()
	case value == "" && f != filterLanguage:
		return &Const{Value: true, At: at}
	case f == filterContent && !e.o.Regexp:
		return &Text{Pattern: value, At: at}
	}
	if f == filterContent {
		return &Text{Pattern: value, Regexp: true, At: at}
	}
	return f.newLeaf(value, at)
}

// establishedSet returns the set of reposet:. Names are used as written, and no name
// begins or ends with a blank, so without any other name the set is empty.
func establishedSet(value string, at Span) Query {
	names := slices.DeleteFunc(strings.Split(value, ","), func(name string) bool { return name == "" || strings.TrimSpace(name) != name })
	if len(names) == 0 {
		return &Const{At: at}
	}
	return &RepoSet{Names: names, At: at}
}

// quotedEnd returns the position after the quote that closes the one at i, or -1. A
// quoted string contains no line feed.
func (e *establishedParser) quotedEnd(i, end int) int {
	if i == end || e.text[i] != '"' {
		return -1
	}
	close := e.quoteEnd(i, end)
	if close < 0 || strings.Contains(e.text[i:close], "\n") {
		return -1
	}
	return close
}

// groupEnd returns the position of the parenthesis that closes the group at i, or -1 if
// the one at i belongs to a word. In an expression it does, unless it holds several
// tokens, or begins with a quoted string, a filter or such a group.
func (e *establishedParser) groupEnd(i, end int) int {
	close := e.parenEnd(i, end)
	last := close
	if close < 0 {
		last = end
	}
	e.scannedBytes += last - i
	if close < 0 && strings.ContainsAny(e.text[i+1:end], "()") || e.hidesParen(i, last, end) {
		e.refuseQuery() // refused, or it was not observed which of the parentheses count
	}
	if close >= 0 && e.o.Regexp && !e.groupsTokens(i+1, close) {
		return -1
	}
	return close
}

// parenEnd returns the position of the parenthesis that closes the one at i, or -1.
func (e *establishedParser) parenEnd(i, end int) int {
	depth := 0
	for j := i; j < end; j++ {
		switch e.text[j] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			return j
		}
	}
	return -1
}

// hidesParen reports whether a parenthesis from i to last is quoted, escaped or in a
// class.
func (e *establishedParser) hidesParen(i, last, end int) bool {
	for i < last && !e.isExhausted() {
		next := i + 1
		switch e.text[i] {
		case '"':
			next = max(next, e.quoteEnd(i, end))
		case '\\':
			next = e.escapeEnd(i, end)
		case '[':
			next = e.classEnd(i, end)
		}
		if next > i+1 && strings.ContainsAny(e.text[i:next], "()") {
			return true
		}
		i = next
	}
	return false
}

// groupsTokens reports whether a range in parentheses is a group in regexp mode.
func (e *establishedParser) groupsTokens(i, end int) bool {
	i = e.skipBlanks(i, end)
	if i == end || e.text[i] == '-' {
		e.refuseQuery() // not observed
		return true
	}
	if e.skipBlanks(e.runEnd(i, end), end) < end || e.quotedEnd(i, end) > 0 {
		return true
	}
	if e.text[i] == '(' {
		return e.groupEnd(i, end) >= 0
	}
	v := e.keywordEnd(i, end)
	return v > 0 && slices.Contains(establishedKeywords, e.text[i:v-1])
}
