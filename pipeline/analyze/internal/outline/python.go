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
		if s.peekByte(0) == '\r' {
			s.pos++
		}
		if s.peekByte(0) == '\n' {
			s.pos++ // a line continuation
		}
		return token{}
	}
	if s.peekByte(1) == c && s.peekByte(2) == c {
		return s.tripleQuoted(c)
	}
	return s.scanQuoted(c, false)
}

// tripleQuoted reads a literal between three quotes, with backslash escapes.
func (s *scanner) tripleQuoted(quote byte) token {
	start := s.pos
	for s.pos += 3; s.pos < len(s.src); s.pos++ {
		switch {
		case s.src[s.pos] == '\\':
			s.pos++
		case s.src[s.pos] == quote && s.peekByte(1) == quote && s.peekByte(2) == quote:
			s.pos += 3
			return s.literalToken(start)
		}
	}
	s.pos = len(s.src)
	return s.literalToken(start)
}

// pythonParser reads logical lines. A block ends where the indentation returns to that of
// the line that opened it.
type pythonParser struct {
	scanner
	scopes
	indents [maxScopes]int32 // of the line that opened each scope
	end     int              // end of the last logical line
}

func runPython(s scanner) {
	p := &pythonParser{scanner: s}
	p.scopes.pushScope(scope{form: formFile, def: -1})
	for {
		t := p.next()
		if t.kind == tokEOF {
			break
		}
		p.readLine(t)
	}
	p.closeBlocks(-1)
}

// takeToken returns the next token and, if it is on the same line, records its end.
func (p *pythonParser) takeToken() token {
	t := p.next()
	if !t.newline && t.kind != tokEOF {
		p.end = int(t.end)
	}
	return t
}

// skipBracketed skips the group that open begins.
func (p *pythonParser) skipBracketed(open token) {
	p.groupToken(open)
	p.end = p.pos
}

// readLine reads the logical line that begins with t.
func (p *pythonParser) readLine(t token) {
	indent := p.indentWidth(t)
	p.closeBlocks(indent)
	p.end = int(t.end)
	if t.word == wAsync {
		t = p.takeToken()
	}
	switch {
	case t.word == wDef:
		p.readBlock(indent, formFunction)
	case t.word == wClass:
		p.readBlock(indent, formType)
	case t.isName() && p.topScope().form != formFunction:
		if string(p.src[t.start:t.end]) == "type" {
			name := p.takeToken()
			if name.isName() && !name.newline {
				p.defineName(name, "alias") // type X = Y, type X[T] = Y
				p.restOfLine(p.takeToken())
				return
			}
			p.unreadToken(name)
		}
		p.readAssignments(t)
	default:
		p.restOfLine(t)
	}
}

// indentWidth returns the width of the indentation before t. Tab stops are every eight
// columns.
func (p *pythonParser) indentWidth(t token) int32 {
	start := int(t.start)
	for start > 0 && p.src[start-1] != '\n' {
		if c := p.src[start-1]; c != ' ' && c != '\t' && c != '\f' {
			return p.indents[len(p.stack)-1] + 1 // after a semicolon: inside the block
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

// closeBlocks closes the blocks that end before a line with the given indentation.
func (p *pythonParser) closeBlocks(indent int32) {
	for len(p.stack) > 1 && indent <= p.indents[len(p.stack)-1] {
		s, _ := p.popScope()
		p.rec.close(s.def, p.end)
	}
}

// readBlock reads the header of a function or class after its keyword.
func (p *pythonParser) readBlock(indent int32, f form) {
	name := p.takeToken()
	if !name.isName() || name.newline {
		p.unreadToken(name)
		return
	}
	kind := code.SymbolKind("function")
	switch {
	case f == formType:
		kind = "class"
	case p.topScope().form == formType:
		kind = "method"
	}
	def := p.defineName(name, kind)
	p.skipHeader()
	if p.isFull() {
		p.rec.limited = true
		return
	}
	p.scopes.pushScope(scope{form: f, name: name.toSpan(), kind: kind, def: def})
	p.indents[len(p.stack)-1] = indent
}

func (p *pythonParser) defineName(t token, kind code.SymbolKind) int32 {
	return p.rec.add(t.toSpan(), kind, *p.topScope())
}

// skipHeader skips to the colon that ends a block's header.
func (p *pythonParser) skipHeader() {
	for {
		switch t := p.takeToken(); {
		case t.kind == tokEOF, t.isPunct(':'):
			return
		case t.newline:
			p.unreadToken(t)
			return
		case t.isPunct('('), t.isPunct('['), t.isPunct('{'):
			p.skipBracketed(t)
		}
	}
}

// restOfLine skips the rest of the logical line, starting at t.
func (p *pythonParser) restOfLine(t token) {
	for first := true; ; first = false {
		switch {
		case t.kind == tokEOF:
			return
		case t.newline && !first:
			p.unreadToken(t)
			return
		case t.isPunct(';'):
			return
		case t.isPunct('('), t.isPunct('['), t.isPunct('{'):
			p.skipBracketed(t)
		}
		t = p.takeToken()
	}
}

// maxTargets bounds the names before one "=" that are recorded.
const maxTargets = 16

// readAssignments records the variables that "a = b = …", "a, b = …" or "a: T = …" define
// in a module or class.
func (p *pythonParser) readAssignments(name token) {
	var targets [maxTargets]token
	for n := 0; ; {
		t := p.takeToken()
		if t.isPunct(',') && n < maxTargets {
			targets[n] = name
			n++
			name = p.takeToken()
			if name.isPunct('*') {
				name = p.takeToken() // a, *rest = …
			}
			if name.isName() && !name.newline {
				continue
			}
			t, name = name, token{} // a, = …
		}
		if t.newline || t.kind == tokEOF {
			p.unreadToken(t)
			return
		}
		annotated := t.isPunct(':')
		if !annotated && (!t.isPunct('=') || p.peekByte(0) == '=') {
			p.restOfLine(t)
			return
		}
		for _, target := range targets[:n] {
			p.defineName(target, "variable")
		}
		n = 0
		if name.kind == tokWord {
			p.defineName(name, "variable")
		}
		name = p.takeToken()
		if name.newline || name.kind == tokEOF {
			p.unreadToken(name)
			return
		}
		if annotated || !name.isName() {
			p.restOfLine(name)
			return
		}
	}
}
