package outline

import "github.com/quarrysearch/quarry/schemas/code"

var pythonLexis = newLexis("", "\"'#\\", newWordTable(wAsync, wClass, wDef, wElse, wFinally, wTry), pythonSpecial)

func pythonSpecial(s *scanner, c byte) token {
	switch c {
	case '#':
		s.skipLine()
		return token{}
	case '\\':
		s.pos++
		if s.peek(0) == '\r' {
			s.pos++
		}
		if s.peek(0) == '\n' {
			s.pos++ // a joined line
		}
		return token{}
	}
	if s.peek(1) == c && s.peek(2) == c {
		return s.tripleQuoted(c)
	}
	return s.quoted(c, false)
}

// tripleQuoted reads a literal between three quotes, with backslash escapes.
func (s *scanner) tripleQuoted(quote byte) token {
	start := s.pos
	for s.pos += 3; s.pos < len(s.src); s.pos++ {
		switch {
		case s.src[s.pos] == '\\':
			s.pos++
		case s.src[s.pos] == quote && s.peek(1) == quote && s.peek(2) == quote:
			s.pos += 3
			return s.literal(start)
		}
	}
	s.pos = len(s.src)
	return s.literal(start)
}

// pythonParser reads logical lines; a block ends where the indentation falls
// back to that of the line which opened it.
type pythonParser struct {
	scanner
	scopes
	indents [maxScopes]int32 // of the line that opened each scope
	end     int              // where the last logical line that was read ended
}

func runPython(s scanner) {
	p := &pythonParser{scanner: s}
	p.scopes.push(scope{form: formFile, def: -1})
	for {
		t := p.next()
		if t.kind == tokEOF {
			break
		}
		p.line(t)
	}
	p.dedent(-1)
}

// take returns the next token and, if it is of the same line, notes its end.
func (p *pythonParser) take() token {
	t := p.next()
	if !t.newline && t.kind != tokEOF {
		p.end = int(t.end)
	}
	return t
}

// skip passes the group that open begins.
func (p *pythonParser) skip(open token) {
	p.group(open)
	p.end = p.pos
}

// line reads the logical line that begins with t.
func (p *pythonParser) line(t token) {
	indent := p.column(t)
	p.dedent(indent)
	p.end = int(t.end)
	if t.word == wAsync {
		t = p.take()
	}
	switch {
	case t.word == wDef:
		p.block(indent, formFunction)
	case t.word == wClass:
		p.block(indent, formType)
	case t.isName() && p.top().form != formFunction:
		p.assignments(t)
	default:
		p.restOfLine(t)
	}
}

// column returns the width of the indentation before t, a tab counting to the
// next multiple of eight.
func (p *pythonParser) column(t token) int32 {
	start := int(t.start)
	for start > 0 && p.src[start-1] != '\n' {
		if c := p.src[start-1]; c != ' ' && c != '\t' && c != '\f' {
			return p.indents[len(p.stack)-1] + 1 // after a semicolon: within the block
		}
		start--
	}
	width := int32(0)
	for _, c := range p.src[start:t.start] {
		if c == '\t' {
			width = (width/8 + 1) * 8
		} else {
			width++
		}
	}
	return width
}

// dedent closes the blocks that a line with the given indentation is no part of.
func (p *pythonParser) dedent(indent int32) {
	for len(p.stack) > 1 && indent <= p.indents[len(p.stack)-1] {
		s, _ := p.pop()
		p.rec.close(s.def, p.end)
	}
}

// block reads the header of a function or class after its keyword.
func (p *pythonParser) block(indent int32, f form) {
	name := p.take()
	if !name.isName() || name.newline {
		p.unread(name)
		return
	}
	kind := code.SymbolKind("function")
	switch {
	case f == formType:
		kind = "class"
	case p.top().form == formType:
		kind = "method"
	}
	def := p.define(name, kind)
	p.header()
	if p.full() {
		return
	}
	p.scopes.push(scope{form: f, name: name.span(), kind: kind, def: def})
	p.indents[len(p.stack)-1] = indent
}

func (p *pythonParser) define(t token, kind code.SymbolKind) int32 {
	return p.rec.add(t.span(), kind, *p.top())
}

// header reads to the colon that ends a block's header.
func (p *pythonParser) header() {
	for {
		switch t := p.take(); {
		case t.kind == tokEOF, t.is(':'):
			return
		case t.newline:
			p.unread(t)
			return
		case t.is('('), t.is('['), t.is('{'):
			p.skip(t)
		}
	}
}

// restOfLine passes the logical line that goes on with t.
func (p *pythonParser) restOfLine(t token) {
	for first := true; ; first = false {
		switch {
		case t.kind == tokEOF:
			return
		case t.newline && !first:
			p.unread(t)
			return
		case t.is(';'):
			return
		case t.is('('), t.is('['), t.is('{'):
			p.skip(t)
		}
		t = p.take()
	}
}

// assignments records the variables that "a = b = …" or "a: T = …" define in a
// module or class.
func (p *pythonParser) assignments(name token) {
	for {
		t := p.take()
		if t.newline || t.kind == tokEOF {
			p.unread(t)
			return
		}
		annotated := t.is(':')
		if !annotated && (!t.is('=') || p.peek(0) == '=') {
			p.restOfLine(t)
			return
		}
		p.define(name, "variable")
		name = p.take()
		if name.newline || name.kind == tokEOF {
			p.unread(name)
			return
		}
		if annotated || !name.isName() {
			p.restOfLine(name)
			return
		}
	}
}
