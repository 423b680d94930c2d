package outline

import (
	"bytes"

	"github.com/quarrysearch/quarry/schemas/code"
)

var rubyLexis = newLexis("@", "\"'`#/%<=?$", newWordTable(wAlias, wAnd, wBegin, wCase, wClass, wDef, wDo, wElse, wElsif, wEnd, wFor, wIf, wIn,
	wModule, wReturn, wUnless, wUntil, wWhile, wThen, wOr, wNot, wWhen, wRescue), rubySpecial)

func rubySpecial(s *scanner, c byte) token {
	switch c {
	case '#':
		s.skipLine()
		return token{}
	case '\'':
		return s.scanQuoted(c, true)
	case '"', '`':
		start := s.pos
		s.pos++
		s.rubyText(c, c, 0)
		return s.literalToken(start)
	case '/':
		if s.valueMayBegin() {
			start := s.pos
			s.pos++
			s.rubyText('/', '/', 0)
			return s.literalToken(start)
		}
	case '%':
		return s.scanPercent()
	case '<':
		return s.rubyHeredoc()
	case '=':
		if s.hasPrefix("=begin") && (s.pos == 0 || s.src[s.pos-1] == '\n') {
			s.scanUntil(s.pos, s.pos, "\n=end")
			s.skipLine()
			return token{}
		}
	case '?':
		if n := s.peekByte(1); (n == '"' || n == '\'' || n == '#' || n == '/' || n == '`') && s.valueMayBegin() {
			return s.punctToken(2) // a character literal
		}
	case '$':
		s.pos = min(s.pos+2, len(s.src))
		for s.pos < len(s.src) && s.lex.class[s.src[s.pos]] >= classWord {
			s.pos++
		}
		return token{shape: shape{kind: tokWord}, start: int32(s.pos - 1), end: int32(s.pos)}
	}
	return s.punctToken(1)
}

// valueMayBegin reports whether a literal rather than an operator may begin at s.pos. It
// returns false after a value, unless the value is a method name with a blank on only one
// side.
func (s *scanner) valueMayBegin() bool {
	switch s.prev.kind {
	case tokNumber, tokString:
		return s.newline
	case tokPunct:
		if s.prev.ch == ':' && s.prev.end == int32(s.pos) {
			return false // a symbol that names an operator
		}
		return s.prev.ch != ')' && s.prev.ch != ']' && s.prev.ch != '}' || s.newline
	case tokWord:
		if s.prev.word != wNone || s.newline {
			return true
		}
		next := s.peekByte(1)
		return int32(s.pos) > s.prev.end && next != ' ' && next != '='
	}
	return true
}

// rubyText reads a literal after its opening delimiter, with escapes, nested delimiters
// and interpolated expressions.
func (s *scanner) rubyText(open, closing byte, depth int) {
	nested := 0
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case c == '\\':
			s.pos = min(s.pos+2, len(s.src))
			continue
		case c == closing && nested == 0:
			s.pos++
			return
		case c == closing:
			nested--
		case c == open:
			nested++
		case c == '#' && s.peekByte(1) == '{' && depth < maxHoles:
			s.pos += 2
			s.rubyHole(depth + 1)
			continue
		}
		s.pos++
	}
}

// rubyHole reads an interpolated expression up to its "}".
func (s *scanner) rubyHole(depth int) {
	braces := 1
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		s.pos++
		switch c {
		case '{':
			braces++
		case '}':
			if braces--; braces == 0 {
				return
			}
		case '"', '\'', '`':
			s.rubyText(c, c, depth)
		case '/':
			if before := bytes.TrimRight(s.src[:s.pos-1], " "); bytes.IndexByte([]byte("([{,=~!&|;:?"), before[len(before)-1]) >= 0 {
				s.rubyText(c, c, depth)
			}
		}
	}
}

// scanPercent reads %w[…], %q(…), %(…) and similar literals, or else "%".
func (s *scanner) scanPercent() token {
	if !s.valueMayBegin() {
		return s.punctToken(1)
	}
	start, i := s.pos, 1
	switch s.peekByte(1) {
	case 'w', 'W', 'i', 'I', 'q', 'Q', 'r', 'x', 's':
		i = 2
	}
	open := s.peekByte(i)
	closing := open
	switch open {
	case '(':
		closing = ')'
	case '[':
		closing = ']'
	case '{':
		closing = '}'
	case '<':
		closing = '>'
	case '|', '!', '/', '^', '~':
	default:
		return s.punctToken(1)
	}
	s.pos += i + 1
	s.rubyText(open, closing, 0)
	return s.literalToken(start)
}

// rubyHeredoc reads the start of a heredoc (<<~NAME, <<-'NAME', <<NAME), or else "<".
func (s *scanner) rubyHeredoc() token {
	if s.peekByte(1) != '<' {
		return s.punctToken(1)
	}
	start, i, indented := s.pos, s.pos+2, false
	if i < len(s.src) && (s.src[i] == '~' || s.src[i] == '-') {
		indented = true
		i++
	}
	quote := byte(0)
	if i < len(s.src) && (s.src[i] == '\'' || s.src[i] == '"' || s.src[i] == '`') {
		quote = s.src[i]
		i++
	}
	from := i
	for i < len(s.src) && s.lex.class[s.src[i]] >= classWord {
		i++
	}
	name := s.src[from:i]
	if len(name) == 0 || name[0] <= '9' || !indented && !upperCase(name) || quote != 0 && (i >= len(s.src) || s.src[i] != quote) {
		return s.punctToken(2)
	}
	if quote != 0 {
		i++
	}
	s.pos = i
	s.addHeredoc(name, indented)
	return s.literalToken(start)
}

// rubyBlock is a construct that "end" closes.
type rubyBlock struct {
	indent int32
	scope  bool // it has an entry in the stack of scopes
}

// rubyParser tracks the keywords that open blocks, and "end". If they do not match, the
// indentation of "end" decides.
type rubyParser struct {
	scanner
	scopes
	blocks []rubyBlock
	before token
	first  bool  // the current token begins a line
	indent int32 // of the current line
	loop   bool  // a "do" on this line belongs to while, until or for
}

// maxBlocks bounds the nesting of blocks that is tracked.
const maxBlocks = 1000

func runRuby(s scanner) {
	p := &rubyParser{scanner: s}
	p.scopes.pushScope(scope{form: formFile, def: -1})
	for {
		t := p.next()
		if t.kind == tokEOF || t.kind == tokWord && t.newline && string(p.tokenText(t)) == "__END__" {
			break
		}
		p.startLine(t)
		p.handleToken(t)
		p.before = p.prev
	}
	for s, ok := p.popScope(); ok; s, ok = p.popScope() {
		p.rec.close(s.def, p.pos)
	}
}

func (p *rubyParser) startLine(t token) {
	p.first = t.newline || p.before.kind == tokNone
	if !p.first {
		return
	}
	p.loop = false
	start := t.start
	for start > 0 && p.src[start-1] != '\n' {
		start--
	}
	p.indent = t.start - start
}

func (p *rubyParser) handleToken(t token) {
	if t.kind != tokWord || p.isUsedAsName(t) {
		return
	}
	switch t.word {
	case wClass:
		p.readClass("class")
	case wModule:
		p.readClass("module")
	case wDef:
		p.readMethod()
	case wEnd:
		p.closeBlock(t)
	case wBegin, wCase:
		p.openBlock(false)
	case wDo:
		if !p.loop {
			p.openBlock(false)
		}
		p.loop = false
	case wIf, wUnless, wWhile, wUntil, wFor:
		if p.beginsStatement() {
			p.openBlock(false)
			p.loop = t.word == wWhile || t.word == wUntil || t.word == wFor
		}
	case wAlias:
		if p.skipBlanks(); p.peekByte(0) == '$' {
			return // a global variable
		}
		name := p.next()
		if name.isPunct(':') {
			name = p.next()
		}
		if p.first && name.kind == tokWord && !name.newline {
			p.defineName(name, "alias")
		} else {
			p.unreadToken(name)
		}
	case wNone:
		if p.first {
			p.readLine(t)
		}
	}
}

// isUsedAsName reports whether a keyword is used as a name: after "." or ":", or
// before ":" in a hash.
func (p *rubyParser) isUsedAsName(t token) bool {
	if p.before.end == t.start && (p.before.isPunct('.') || p.before.isPunct(':')) || p.before.isPunct('.') && !t.newline {
		return true
	}
	switch p.peekByte(0) {
	case ':':
		return p.peekByte(1) != ':' && t.word != wElse
	case '?', '!':
		return p.peekByte(1) != '=' && t.word != wNone && t.word != wDef
	}
	return false
}

// beginsStatement reports whether a keyword begins a statement rather than modifies the
// previous one.
func (p *rubyParser) beginsStatement() bool {
	if p.first {
		return true
	}
	switch b := p.before; b.kind {
	case tokPunct:
		return b.ch != ')' && b.ch != ']' && b.ch != '}' && b.ch != '?' && b.ch != '!'
	case tokWord:
		switch b.word {
		case wElse, wDo, wBegin, wThen, wAnd, wOr, wNot, wReturn:
			return true
		}
	}
	return false
}

func (p *rubyParser) openBlock(scoped bool) {
	if len(p.blocks) < maxBlocks {
		p.blocks = append(p.blocks, rubyBlock{p.indent, scoped})
	} else if scoped {
		p.popScope()
	}
}

func (p *rubyParser) enterScope(s scope) {
	if p.isFull() || len(p.blocks) >= maxBlocks {
		p.rec.limited = true
		p.openBlock(false)
		return
	}
	p.scopes.pushScope(s)
	p.openBlock(true)
}

// closeBlock closes the innermost block. An "end" at the beginning of a line closes the
// innermost block that began on a line with the same indentation, if there is one.
func (p *rubyParser) closeBlock(t token) {
	n := len(p.blocks)
	if n == 0 {
		return
	}
	to := n - 1
	if p.first {
		for i := to; i >= 0 && i > to-maxResync; i-- {
			if p.blocks[i].indent == p.indent {
				to = i
				break
			}
		}
	}
	for i := n - 1; i >= to; i-- {
		if p.blocks[i].scope {
			s, _ := p.popScope()
			p.rec.close(s.def, int(t.end))
		}
	}
	p.blocks = p.blocks[:to]
}

// maxResync bounds the blocks that one "end" may close.
const maxResync = 16

func (p *rubyParser) defineName(t token, kind code.SymbolKind) int32 {
	return p.rec.add(t.toSpan(), kind, *p.topScope())
}

// readClass reads "class A::Name", "module Name" or "class << self".
func (p *rubyParser) readClass(kind code.SymbolKind) {
	t, in := p.next(), *p.topScope()
	if t.isPunct('<') {
		p.enterScope(p.inheritScope(formType))
		return
	}
	if t.isPunct(':') && p.peekByte(0) == ':' {
		p.pos++
		t, in = p.next(), scope{} // class ::Name
	}
	if !t.isName() || t.newline {
		p.unreadToken(t)
		return
	}
	for p.peekByte(0) == ':' && p.peekByte(1) == ':' {
		p.pos += 2
		if next := p.next(); next.isName() {
			t = next
		}
	}
	p.enterScope(scope{form: formType, name: t.toSpan(), kind: kind, def: p.rec.add(t.toSpan(), kind, in)})
}

// readMethod reads "def name", "def self.name" or the definition of an operator.
func (p *rubyParser) readMethod() {
	p.prev = token{shape: shape{kind: tokNumber}} // so that "/" and "%" are operators here
	t := p.next()
	kind := code.SymbolKind("method")
	for t.kind == tokWord && p.peekByte(0) == '.' {
		kind = "singletonMethod"
		p.pos++
		t = p.next()
	}
	name := p.methodName(t)
	s := scope{form: formFunction, name: p.topScope().name, kind: p.topScope().kind, def: p.defineName(name, kind)}
	if p.isEndless() {
		p.rec.close(s.def, p.pos)
		return
	}
	p.enterScope(s)
}

// methodName extends the first token of a method name by its suffix.
func (p *rubyParser) methodName(t token) token {
	if t.kind == tokWord {
		switch c := p.peekByte(0); {
		case c == '?' || c == '!':
			p.pos++
		case c == '=' && p.peekByte(1) != '=' && p.peekByte(1) != '~' && p.peekByte(1) != '>' && (p.peekByte(1) == '(' || p.peekByte(1) == ' ' && p.peekByte(2) != ' ' && p.isSetter()):
			p.pos++
		}
	} else if t.kind == tokPunct {
		for p.pos < len(p.src) && operatorByte(p.src[p.pos]) {
			p.pos++
		}
	}
	t.end = int32(p.pos)
	return t
}

// isSetter reports whether the "=" after a method name is part of the name.
func (p *rubyParser) isSetter() bool {
	return p.lex.class[p.peekByte(2)] == classWord && p.peekByte(0) == '=' && p.src[p.pos-1] != ' '
}

func operatorByte(c byte) bool {
	switch c {
	case '=', '<', '>', '~', '*', '+', '-', '/', '%', '&', '|', '^', '[', ']', '!', '@':
		return true
	}
	return false
}

// isEndless reports whether "= expression" follows the parameters, so that no "end"
// follows. It consumes the parameters.
func (p *rubyParser) isEndless() bool {
	p.skipBlanks()
	if p.peekByte(0) == '(' {
		p.groupToken(p.punctToken(1))
		p.prev = token{shape: shape{kind: tokPunct, ch: ')'}, start: int32(p.pos - 1), end: int32(p.pos)}
		p.skipBlanks()
	}
	return p.peekByte(0) == '=' && p.peekByte(1) == ' '
}

// readLine records the constants and accessors that a line defines.
func (p *rubyParser) readLine(t token) {
	if isUpper(p.src[t.start]) {
		if next := p.next(); !next.newline && (next.isPunct('=') || next.isPunct(',')) {
			p.readConstants(t, next)
		} else if next.isPunct('|') && p.peekByte(0) == '|' && p.peekByte(1) == '=' {
			p.defineName(t, "constant") // A ||= 1
		} else {
			p.unreadToken(next)
			p.prev = t
		}
		return
	}
	switch string(p.tokenText(t)) {
	case "attr_accessor", "attr_reader", "attr_writer", "attr", "cattr_accessor", "cattr_reader", "cattr_writer", "mattr_accessor", "mattr_reader", "mattr_writer":
		p.readSymbols("accessor")
	case "alias_method":
		first := len(p.rec.defs)
		p.readSymbols("alias")
		p.rec.defs = p.rec.defs[:min(first+1, len(p.rec.defs))] // the second is the old name
	}
}

// readSymbols reads ":a, :b" and records the names.
func (p *rubyParser) readSymbols(kind code.SymbolKind) {
	for {
		t := p.next()
		if !t.isPunct(':') || t.newline {
			p.unreadToken(t)
			return
		}
		if name := p.next(); name.kind == tokWord {
			p.defineName(p.methodName(name), kind)
		}
		comma := p.next()
		if !comma.isPunct(',') {
			p.unreadToken(comma)
			return
		}
		p.newline = false
	}
}
