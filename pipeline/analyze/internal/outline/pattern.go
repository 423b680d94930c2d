package outline

import (
	"fmt"
	"strings"
)

// A pattern is the beginning of a definition, as elements separated by blanks:
//
//	word      that word; a|b one of several
//	= ::      that punctuation, byte by byte
//	@         the name
//	@.        a qualified name: for a.b.c the name is c, its parent b
//	@*        a qualified name as a whole: all of a.b.c
//	@"        the text of a string, or a name
//	@,        names separated by commas, each with the text between it and the comma
//	@,=       names separated by commas up to a "=", each with its type or attribute
//	(@,)      a group in parentheses of names separated by commas, each with its type, or
//	          of such groups
//	@+        names separated by blanks
//	@~        everything up to the match of the next element, as one name
//	@=init    that word, which is the name; @=a|b one of several
//	0         a number
//	()        a group in parentheses; likewise [] and <> and {}
//	...       any tokens, as few as possible
//	.         any one token; \. and \@ are those bytes
//	^         the beginning of the statement
//	$         the end of the statement; $: if a ":" ends it
//	(@)       a group in parentheses, whose last word is the name
//	{         the end of the statement, if a brace follows
//
// "?" after an element makes it optional. A pattern that begins with a word is tried at each
// occurrence of the word; all other patterns are tried at the beginning of a statement.
type pattern []element

type element struct {
	op       op
	words    []word // opWord
	text     string // opPunct
	optional bool
}

type op uint8

const (
	opWord op = iota
	opPunct
	opName
	opLast
	opPath
	opText
	opNames
	opTargets
	opTuple
	opSpan
	opSelf
	opRun
	opNumber
	opInside
	opGroup
	opSkip
	opAny
	opStart
	opEnd
	opBrace
)

var patternOps = map[string]op{
	"@": opName, "@.": opLast, "@*": opPath, `@"`: opText, "@,": opNames, "@,=": opTargets, "(@,)": opTuple, "@~": opSpan, "@+": opRun, "0": opNumber, "(@)": opInside, "$:": opEnd, "$;": opEnd,
	"()": opGroup, "[]": opGroup, "<>": opGroup, "{}": opGroup, "...": opSkip, ".": opAny, "^": opStart, "$": opEnd, "{": opBrace,
}

// patternWords returns the words of a pattern, for the word table.
func patternWords(text string) []string {
	var words []string
	for _, e := range strings.Fields(text) {
		e = strings.TrimPrefix(strings.TrimSuffix(e, "?"), "@=")
		if _, isOp := patternOps[e]; isOp || e == "" || !isWordText(e) {
			continue
		}
		words = append(words, strings.Split(e, "|")...)
	}
	return words
}

// isWordText reports whether an element is made of words, not of punctuation.
func isWordText(e string) bool {
	return len(e) > 1 && (isLetter(e[0]) || e[0] == '_' || e[0] == '.' && isLetter(e[1]))
}

// compilePattern compiles the text of a pattern, whose words must be in the table. It
// panics on an invalid pattern, because all patterns are part of this package.
func compilePattern(text string, words *wordTable) pattern {
	var p pattern
	for _, field := range strings.Fields(text) {
		e := element{}
		if len(field) > 1 && strings.HasSuffix(field, "?") {
			e.optional = true
			field = field[:len(field)-1]
		}
		known, isOp := patternOps[field]
		switch {
		case isOp:
			e.op, e.text = known, field
		case isWordText(strings.TrimPrefix(field, "@=")):
			e.op = opWord
			if rest, self := strings.CutPrefix(field, "@="); self {
				e.op, field = opSelf, rest
			}
			for _, text := range strings.Split(field, "|") {
				w := words.lookupWord([]byte(text))
				if w == wNone {
					panic(fmt.Sprintf("outline: %q of the pattern %q is not in the table of words", text, field))
				}
				e.words = append(e.words, w)
			}
		default:
			e.op, e.text = opPunct, strings.TrimPrefix(field, `\`)
		}
		p = append(p, e)
	}
	return p
}

// headWords returns the words with which the pattern begins, or nil if it is tried at the
// beginning of statements.
func (p pattern) headWords() []word {
	if len(p) > 1 && p[0].op == opStart {
		p = p[1:]
	}
	if len(p) > 0 && (p[0].op == opWord || p[0].op == opSelf) && !p[0].optional {
		return p[0].words
	}
	return nil
}

// maxNames bounds the names in one list.
const maxNames = 64

// matcher matches patterns against the tokens of a statement.
type matcher struct {
	src      []byte
	flags    *[256]wordFlag
	stmt     []token
	end      byte // the end of the statement: '{', '}', ';', '\n' or 0
	name     span
	parent   span
	names    []span
	pathSeps string
	quotes   string // bytes that may enclose a name
}

// matchPattern reports whether the pattern matches from token i on. It stores the
// captured names in name, parent and names.
func (m *matcher) matchPattern(p pattern, i int) bool {
	m.name, m.parent, m.names = span{}, span{}, m.names[:0]
	return m.matchAt(p, i)
}

func (m *matcher) matchAt(p pattern, i int) bool {
	for k := range p {
		e := &p[k]
		if e.op == opSkip || e.op == opSpan {
			return m.searchRest(e, p[k+1:], i)
		}
		n := m.matchElement(e, i)
		if e.optional && n > 0 && m.matchAt(p[k+1:], i+n) {
			return true
		}
		if n < 0 || e.optional {
			if !e.optional {
				return false
			}
			n = 0
		}
		i += n
	}
	return true
}

// searchRest tries the rest of a pattern at every token from from on.
func (m *matcher) searchRest(e *element, rest pattern, from int) bool {
	for i := from; i <= len(m.stmt); i++ {
		if e.op == opSpan {
			if i == from {
				continue
			}
			m.name = span{m.stmt[from].start, m.stmt[i-1].end}
		}
		if m.matchAt(rest, i) {
			return true
		}
	}
	return false
}

// matchElement returns the number of tokens from i on that the element matches, or -1.
func (m *matcher) matchElement(e *element, i int) int {
	switch e.op {
	case opStart:
		return takenIf(i == 0, 0)
	case opEnd:
		return takenIf(i == len(m.stmt) && (len(e.text) == 1 || m.end == e.text[1]), 0)
	case opBrace:
		return takenIf(i == len(m.stmt) && m.end == '{', 0)
	}
	if i >= len(m.stmt) {
		return -1
	}
	t := m.stmt[i]
	switch e.op {
	case opWord, opSelf:
		if t.kind == tokWord && t.word != wNone {
			for _, w := range e.words {
				if w == t.word {
					if e.op == opSelf {
						m.name = t.toSpan()
					}
					return 1
				}
			}
		}
		return -1
	case opPunct:
		return m.matchPunct(e.text, i)
	case opAny:
		return 1
	case opGroup:
		return takenIf(t.isGroup(e.text[0]), 1)
	case opName:
		if !m.isName(t) {
			return -1
		}
		m.name = m.nameSpan(t)
		return 1
	case opText:
		return m.matchText(t)
	case opNames:
		return m.matchList(i)
	case opTargets:
		return m.matchTargets(i)
	case opTuple:
		if !t.isGroup('(') || !m.matchTuple(t.start+1, t.end-1, 0) {
			return -1
		}
		return 1
	case opInside:
		return m.matchInside(t)
	case opNumber:
		return takenIf(t.kind == tokNumber, 1)
	case opRun:
		from := i
		for i < len(m.stmt) && m.isName(m.stmt[i]) && len(m.names) < maxNames {
			m.names = append(m.names, m.stmt[i].toSpan())
			i++
		}
		return takenIf(i > from, i-from)
	case opLast, opPath:
		return m.matchPath(e.op, i)
	}
	return -1
}

func takenIf(ok bool, n int) int {
	if ok {
		return n
	}
	return -1
}

// isName reports whether t is a word that may be a name, or a quoted name.
func (m *matcher) isName(t token) bool {
	switch t.kind {
	case tokWord:
		return t.word == wNone || m.flags[t.word]&wordReserved == 0
	case tokString, tokGroup:
		return m.quotes != "" && t.end-t.start > 2 && strings.IndexByte(m.quotes, m.src[t.start]) >= 0
	}
	return false
}

// nameSpan returns the range of the name t, without quotes.
func (m *matcher) nameSpan(t token) span {
	s := t.toSpan()
	if t.kind != tokWord {
		for n := 0; n < 2 && s.end-s.start > 2 && strings.IndexByte(m.quotes, m.src[s.start]) >= 0; n++ {
			s.start, s.end = s.start+1, s.end-1
		}
	}
	return s
}

func (m *matcher) matchPunct(text string, i int) int {
	for k := range len(text) {
		if i+k >= len(m.stmt) || !m.stmt[i+k].isPunct(text[k]) || k > 0 && m.stmt[i+k].start != m.stmt[i+k-1].end {
			return -1
		}
	}
	return len(text)
}

// matchText matches a string, whose text without quotes is the name, or a name.
func (m *matcher) matchText(t token) int {
	switch {
	case m.isName(t):
		m.name = m.nameSpan(t)
		return 1
	case t.kind == tokString && t.end-t.start > 2:
		s := span{t.start + 1, t.end - 1}
		for s.end-s.start > 2 && m.src[s.start] == m.src[t.start] && m.src[s.end-1] == m.src[t.end-1] {
			s.start, s.end = s.start+1, s.end-1
		}
		m.name = s
		return 1
	}
	return -1
}

// matchPath matches names joined by the separators of the table.
func (m *matcher) matchPath(o op, i int) int {
	first, n := m.stmt[i], 1
	if !m.isName(first) {
		return -1
	}
	m.name, m.parent = m.nameSpan(first), span{}
	for {
		k := i + n
		seps := 0
		for k < len(m.stmt) && m.stmt[k].kind == tokPunct && seps < 2 && strings.IndexByte(m.pathSeps, m.stmt[k].ch) >= 0 && m.stmt[k].start == m.stmt[k-1].end {
			k, seps = k+1, seps+1
		}
		if seps == 0 || k >= len(m.stmt) || m.stmt[k].kind != tokWord && !m.isName(m.stmt[k]) || m.stmt[k].start != m.stmt[k-1].end {
			return n
		}
		n = k + 1 - i
		if o == opPath {
			m.name.end = m.stmt[k].end
			continue
		}
		m.parent = span{m.nameSpan(first).start, m.name.end}
		m.name = m.nameSpan(m.stmt[k])
	}
}

// matchInside matches a group and takes its last word as the name.
func (m *matcher) matchInside(t token) int {
	if !t.isGroup('(') {
		return -1
	}
	end := t.end - 1
	for end > t.start && isBlank(m.src[end-1]) {
		end--
	}
	start := end
	for start > t.start && (isLetter(m.src[start-1]) || m.src[start-1] == '_' || m.src[start-1] >= '0' && m.src[start-1] <= '9') {
		start--
	}
	m.name = span{start, end}
	return takenIf(start < end, 1)
}

// matchList matches names separated by commas. It skips the text between a name and the
// comma, such as a type or a value.
func (m *matcher) matchList(i int) int {
	from := i
	for i < len(m.stmt) && m.isName(m.stmt[i]) && len(m.names) < maxNames {
		m.names = append(m.names, m.nameSpan(m.stmt[i]))
		for i < len(m.stmt) && !m.stmt[i].isPunct(',') {
			i++
		}
		i++
	}
	if i == from {
		return -1
	}
	m.name = m.names[0]
	return min(i, len(m.stmt)) - from
}

// matchTargets matches names separated by commas that a "=" follows.
func (m *matcher) matchTargets(i int) int {
	from := i
	for i+1 < len(m.stmt) && m.isName(m.stmt[i]) && len(m.names) < maxNames {
		if name := m.nameSpan(m.stmt[i]); name.end-name.start > 1 || m.src[name.start] != '_' {
			m.names = append(m.names, name)
		}
		if i++; !m.stmt[i].isPunct(',') && !m.stmt[i].isPunct('=') && !m.stmt[i].isPunct(':') && !m.stmt[i].isPunct('<') {
			return -1
		}
		for i < len(m.stmt) && !m.stmt[i].isPunct(',') && !m.stmt[i].isPunct('=') {
			i++
		}
		if i >= len(m.stmt) {
			return -1
		}
		if m.stmt[i].isPunct('=') {
			return i - from
		}
		i++
	}
	return -1
}

// maxTuple bounds the nesting of tuples.
const maxTuple = 8

// matchTuple takes the names in the text of a tuple from start to end. It reports whether
// the text consists of names with types, "_", and tuples of these.
func (m *matcher) matchTuple(start, end int32, depth int) bool {
	for i := start; ; i++ {
		for i < end && isBlank(m.src[i]) {
			i++
		}
		from := i
		if i < end && m.src[i] == '(' {
			for nested := 0; i < end && (nested > 0 || i == from); i++ {
				nested += bracketStep(m.src[i])
			}
			if depth >= maxTuple || !m.matchTuple(from+1, i-1, depth+1) {
				return false
			}
		} else {
			i = m.wordEnd(i, end)
			if i < end && m.src[i] == ' ' && m.wordEnd(i+1, end) > i+1 { // a type before the name
				from = i + 1
				i = m.wordEnd(from, end)
			}
			if i == from || len(m.names) >= maxNames {
				return false
			}
			if i-from > 1 || m.src[from] != '_' {
				m.names = append(m.names, span{from, i})
			}
		}
		for i < end && isBlank(m.src[i]) {
			i++
		}
		if i < end && m.src[i] == ':' {
			for nested := 0; i < end && (m.src[i] != ',' || nested > 0); i++ {
				nested += bracketStep(m.src[i])
			}
		}
		if i >= end {
			return len(m.names) > 0
		}
		if m.src[i] != ',' {
			return false
		}
	}
}

// wordEnd returns the end of the word at start, or start if there is none.
func (m *matcher) wordEnd(start, end int32) int32 {
	i := start
	for i < end && (isLetter(m.src[i]) || m.src[i] == '_' || m.src[i] >= 0x80 || i > start && m.src[i] >= '0' && m.src[i] <= '9') {
		i++
	}
	return i
}

// bracketStep returns 1 for an opening bracket, -1 for a closing one, and 0 for others.
func bracketStep(c byte) int {
	switch c {
	case '(', '[', '<':
		return 1
	case ')', ']', '>':
		return -1
	}
	return 0
}
