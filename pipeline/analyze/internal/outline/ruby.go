package outline

import "github.com/quarrysearch/quarry/schemas/code"

var rubyLexis = newLexis("@", "\"'`#/%<=?$", newWordTable(wAlias, wAnd, wBegin, wCase, wClass, wDef, wDo, wElse, wElsif, wEnd, wFor, wIf, wIn,
	wModule, wReturn, wUnless, wUntil, wWhile, wThen, wOr, wNot, wWhen, wRescue), rubySpecial)

func rubySpecial(s *scanner, c byte) token {
	switch c {
	case '#':
		s.skipLine()
		return token{}
	case '\'':
		return s.quoted(c, true)
	case '"', '`':
		start := s.pos
		s.pos++
		s.rubyText(c, c, 0)
		return s.literal(start)
	case '/':
		if s.valueMayBegin() {
			start := s.pos
			s.pos++
			s.rubyText('/', '/', 0)
			return s.literal(start)
		}
	case '%':
		return s.percent()
	case '<':
		return s.rubyHeredoc()
	case '=':
		if s.at("=begin") && (s.pos == 0 || s.src[s.pos-1] == '\n') {
			s.until(s.pos, s.pos, "\n=end")
			s.skipLine()
			return token{}
		}
	case '?':
		if n := s.peek(1); (n == '"' || n == '\'' || n == '#' || n == '/' || n == '`') && s.valueMayBegin() {
			return s.punct(2) // a character
		}
	case '$':
		s.pos = min(s.pos+2, len(s.src))
		for s.pos < len(s.src) && s.lex.class[s.src[s.pos]] >= classWord {
			s.pos++
		}
		return token{shape: shape{kind: tokWord}, start: int32(s.pos - 1), end: int32(s.pos)}
	}
	return s.punct(1)
}

// valueMayBegin reports whether a literal rather than an operator can stand at
// s.pos: not behind a value, unless that is a method's name set off by a blank
// on one side only.
func (s *scanner) valueMayBegin() bool {
	switch s.prev.kind {
	case tokNumber, tokString:
		return s.newline
	case tokPunct:
		if s.prev.ch == ':' && s.prev.end == int32(s.pos) {
			return false // the symbol of an operator
		}
		return s.prev.ch != ')' && s.prev.ch != ']' && s.prev.ch != '}' || s.newline
	case tokWord:
		if s.prev.word != wNone || s.newline {
			return true
		}
		next := s.peek(1)
		return int32(s.pos) > s.prev.end && next != ' ' && next != '='
	}
	return true
}

// rubyText reads a literal behind its opening delimiter, with escapes, nested
// delimiters and interpolated expressions.
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
		case c == '#' && s.peek(1) == '{' && depth < maxHoles:
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
		}
	}
}

// percent reads %w[…], %q(…), %(…) and their like, else a "%".
func (s *scanner) percent() token {
	if !s.valueMayBegin() {
		return s.punct(1)
	}
	start, i := s.pos, 1
	switch s.peek(1) {
	case 'w', 'W', 'i', 'I', 'q', 'Q', 'r', 'x', 's':
		i = 2
	}
	open := s.peek(i)
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
		return s.punct(1)
	}
	s.pos += i + 1
	s.rubyText(open, closing, 0)
	return s.literal(start)
}

// rubyHeredoc reads the mark of a heredoc (<<~NAME, <<-'NAME', <<NAME), else a
// "<".
func (s *scanner) rubyHeredoc() token {
	if s.peek(1) != '<' {
		return s.punct(1)
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
	if len(name) == 0 || !indented && !upperCase(name) || quote != 0 && (i >= len(s.src) || s.src[i] != quote) {
		return s.punct(2)
	}
	if quote != 0 {
		i++
	}
	s.pos = i
	s.addHeredoc(name, indented)
	return s.literal(start)
}

// rubyBlock is something that "end" closes.
type rubyBlock struct {
	indent int32
	scope  bool // it has an entry on the stack of scopes
}

// rubyParser follows the keywords that open blocks, and "end". Where the two do
// not add up, the indentation of "end" decides.
type rubyParser struct {
	scanner
	scopes
	blocks []rubyBlock
	before token
	first  bool  // the current token begins a line
	indent int32 // of the current line
	loop   bool  // a "do" on this line belongs to while, until or for
}

// maxBlocks bounds the nesting of blocks that is followed.
const maxBlocks = 1000

func runRuby(s scanner) {
	p := &rubyParser{scanner: s}
	p.scopes.push(scope{form: formFile, def: -1})
	for {
		t := p.next()
		if t.kind == tokEOF || t.kind == tokWord && t.newline && string(p.text(t)) == "__END__" {
			break
		}
		p.startLine(t)
		p.token(t)
		p.before = p.prev
	}
	for s, ok := p.pop(); ok; s, ok = p.pop() {
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

func (p *rubyParser) token(t token) {
	if t.kind != tokWord || p.quoted(t) {
		return
	}
	switch t.word {
	case wClass:
		p.class("class")
	case wModule:
		p.class("module")
	case wDef:
		p.def()
	case wEnd:
		p.end(t)
	case wBegin, wCase:
		p.open(false)
	case wDo:
		if !p.loop {
			p.open(false)
		}
		p.loop = false
	case wIf, wUnless, wWhile, wUntil, wFor:
		if p.statement() {
			p.open(false)
			p.loop = t.word == wWhile || t.word == wUntil || t.word == wFor
		}
	case wAlias:
		name := p.next()
		if name.is(':') {
			name = p.next()
		}
		if p.first && name.kind == tokWord && !name.newline {
			p.define(name, "alias")
		} else {
			p.unread(name)
		}
	case wNone:
		if p.first {
			p.line(t)
		}
	}
}

// quoted reports whether a keyword is used as a name: after "." or ":", or
// before ":" in a hash.
func (p *rubyParser) quoted(t token) bool {
	if p.before.end == t.start && (p.before.is('.') || p.before.is(':')) || p.before.is('.') && !t.newline {
		return true
	}
	switch p.peek(0) {
	case ':':
		return p.peek(1) != ':' && t.word != wElse
	case '?', '!':
		return p.peek(1) != '=' && t.word != wNone && t.word != wDef
	}
	return false
}

// statement reports whether a keyword begins a statement, rather than modifying
// the one before it.
func (p *rubyParser) statement() bool {
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

func (p *rubyParser) open(scoped bool) {
	if len(p.blocks) < maxBlocks {
		p.blocks = append(p.blocks, rubyBlock{p.indent, scoped})
	} else if scoped {
		p.pop()
	}
}

func (p *rubyParser) enter(s scope) {
	if p.full() || len(p.blocks) >= maxBlocks {
		p.open(false)
		return
	}
	p.scopes.push(s)
	p.open(true)
}

// end closes the innermost block; an "end" that begins a line closes the
// innermost block that began on a line of the same indentation, if there is one.
func (p *rubyParser) end(t token) {
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
			s, _ := p.pop()
			p.rec.close(s.def, int(t.end))
		}
	}
	p.blocks = p.blocks[:to]
}

// maxResync is how many blocks an "end" may close at once.
const maxResync = 16

func (p *rubyParser) define(t token, kind code.SymbolKind) int32 {
	return p.rec.add(t.span(), kind, *p.top())
}

// class reads "class A::Name", "module Name" or "class << self".
func (p *rubyParser) class(kind code.SymbolKind) {
	t := p.next()
	if t.is('<') {
		p.enter(p.inherit(formType))
		return
	}
	if !t.isName() || t.newline {
		p.unread(t)
		return
	}
	for p.peek(0) == ':' && p.peek(1) == ':' {
		p.pos += 2
		if next := p.next(); next.isName() {
			t = next
		}
	}
	p.enter(scope{form: formType, name: t.span(), kind: kind, def: p.define(t, kind)})
}

// def reads "def name", "def self.name" or an operator's definition.
func (p *rubyParser) def() {
	p.prev = token{shape: shape{kind: tokNumber}} // so that "/" and "%" are operators here
	t := p.next()
	kind := code.SymbolKind("method")
	for t.kind == tokWord && p.peek(0) == '.' {
		kind = "singletonMethod"
		p.pos++
		t = p.next()
	}
	name := p.methodName(t)
	s := scope{form: formFunction, name: p.top().name, kind: p.top().kind, def: p.define(name, kind)}
	if p.endless() {
		p.rec.close(s.def, p.pos)
		return
	}
	p.enter(s)
}

// methodName extends the first token of a method's name by its suffix.
func (p *rubyParser) methodName(t token) token {
	if t.kind == tokWord {
		switch c := p.peek(0); {
		case c == '?' || c == '!':
			p.pos++
		case c == '=' && p.peek(1) != '=' && p.peek(1) != '~' && p.peek(1) != '>' && (p.peek(1) == '(' || p.peek(1) == ' ' && p.peek(2) != ' ' && p.setter()):
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

// setter reports whether "= " behind a method's name is part of it.
func (p *rubyParser) setter() bool {
	return p.lex.class[p.peek(2)] == classWord && p.peek(0) == '=' && p.src[p.pos-1] != ' '
}

func operatorByte(c byte) bool {
	switch c {
	case '=', '<', '>', '~', '*', '+', '-', '/', '%', '&', '|', '^', '[', ']', '!', '@':
		return true
	}
	return false
}

// endless reports whether "= expression" follows the parameters, so that no
// "end" will. The parameters are consumed.
func (p *rubyParser) endless() bool {
	p.skipBlanks()
	if p.peek(0) == '(' {
		p.group(p.punct(1))
		p.prev = token{shape: shape{kind: tokPunct, ch: ')'}, start: int32(p.pos - 1), end: int32(p.pos)}
		p.skipBlanks()
	}
	return p.peek(0) == '=' && p.peek(1) == ' '
}

// line records constants and accessors that a line defines.
func (p *rubyParser) line(t token) {
	if c := p.src[t.start]; c >= 'A' && c <= 'Z' {
		if next := p.next(); next.is('=') && !next.newline && p.peek(0) != '=' && p.peek(0) != '~' && p.peek(0) != '>' {
			p.define(t, "constant")
		} else {
			p.unread(next)
			p.prev = t
		}
		return
	}
	switch string(p.text(t)) {
	case "attr_accessor", "attr_reader", "attr_writer":
		p.accessors()
	}
}

// accessors reads ":a, :b".
func (p *rubyParser) accessors() {
	for {
		t := p.next()
		if !t.is(':') || t.newline {
			p.unread(t)
			return
		}
		if name := p.next(); name.kind == tokWord {
			p.define(name, "accessor")
		}
		comma := p.next()
		if !comma.is(',') {
			p.unread(comma)
			return
		}
		p.newline = false
	}
}
