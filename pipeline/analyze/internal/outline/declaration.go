package outline

import "github.com/quarrysearch/quarry/schemas/code"

// maxDeclTokens bounds the tokens kept for one declaration. Later tokens are dropped,
// because names are near the front.
const maxDeclTokens = 1024

// dialect parses declarations of one language in the C family.
type dialect interface {
	// handleToken may consume or change t before it is added to the declaration. It
	// reports whether it consumed t.
	handleToken(p *declParser, t token) bool
	// handleBody is called at a "{". It records the definitions in the collected tokens,
	// and enters or skips the body.
	handleBody(p *declParser, open token)
	// handleStatement is called at a ";".
	handleStatement(p *declParser)
	// handleClose is called at a "}", after the scope is closed.
	handleClose(p *declParser, s scope)
}

// declParser collects the tokens of a declaration, with each group in parentheses or
// brackets as one token, and passes them to the dialect.
type declParser struct {
	scanner
	scopes
	dialect dialect
	decl    []token
}

func (p *declParser) run() {
	for {
		t := p.next()
		if t.kind == tokEOF {
			p.closeAll()
			return
		}
		p.readToken(t)
	}
}

func (p *declParser) readToken(t token) {
	if p.topScope().form == formEnum && !p.topScope().finished {
		p.readEnumerator(t)
		return
	}
	p.acceptToken(t)
}

func (p *declParser) acceptToken(t token) {
	if t.kind == tokPunct {
		switch t.ch {
		case '{':
			p.dialect.handleBody(p, t)
			return
		case '}':
			p.closeScope(t)
			return
		case ';':
			p.dialect.handleStatement(p)
			return
		case '(', '[':
			t = p.groupToken(t)
		}
	}
	if !p.dialect.handleToken(p, t) {
		p.pushToken(t)
	}
}

func (p *declParser) pushToken(t token) {
	if len(p.decl) < maxDeclTokens {
		p.decl = append(p.decl, t)
	}
}

func (p *declParser) reset() { p.decl = p.decl[:0] }

// enterScope opens the scope of definition def (or of none, with -1), whose "{" has just
// been read.
func (p *declParser) enterScope(s scope) {
	p.reset()
	if p.isFull() {
		p.rec.limited = true
		p.skipGroup('{')
		p.rec.close(s.def, p.pos)
		return
	}
	s.first = int32(len(p.rec.defs))
	p.scopes.pushScope(s)
	if s.form != formTransparent {
		p.openScopes++
	}
}

// skipBody skips the body of definition def, whose "{" has just been read.
func (p *declParser) skipBody(def int32) {
	first := len(p.nested)
	p.skipNoting()
	p.rec.close(def, p.pos)
	if len(p.nested) > first {
		p.readNested(first, def)
	}
	p.reset()
}

// skipInitializer skips a braced value and continues with the declaration.
func (p *declParser) skipInitializer(open token) {
	first := len(p.nested)
	if p.lex.nested != nil && p.nestedDepth < maxNested && len(p.decl) > 0 {
		p.bodyBrace = int(p.decl[0].start) - 1
		if from := p.lex.nested(&p.scanner, int(open.start)); from >= 0 {
			p.nested = append(p.nested, nestedBrace{int32(from), open.start})
		}
	}
	p.skipNoting()
	open.kind, open.end = tokGroup, int32(p.pos)
	if len(p.nested) > first {
		p.readNested(first, -1)
	}
	p.pushToken(open)
}

func (p *declParser) closeScope(t token) {
	s, ok := p.popScope()
	p.reset()
	if !ok {
		return
	}
	if s.form != formTransparent {
		p.openScopes--
	}
	p.rec.close(s.def, int(t.end))
	p.dialect.handleClose(p, s)
}

// closeAll closes the scopes that are still open at the end of the text.
func (p *declParser) closeAll() {
	for {
		s, ok := p.popScope()
		if !ok {
			return
		}
		p.rec.close(s.def, len(p.src))
	}
}

// readEnumerator reads the list of an enum: names, each up to its comma. A ";" ends the
// list; in Java, members follow it.
func (p *declParser) readEnumerator(t token) {
	switch {
	case t.isPunct('}'):
		p.closeScope(t)
	case t.isPunct(';'):
		p.topScope().finished = true
		p.reset()
	case t.isPunct(','):
		p.reset()
	case t.isPunct('{') && len(p.decl) > 0 && p.lex == javaLexis: // members of the constant alone
		p.enterScope(scope{form: formType, name: p.decl[0].toSpan(), kind: "enumerator", def: -1})
	case t.isPunct('(') || t.isPunct('[') || t.isPunct('{'):
		p.groupToken(t)
	case t.isPunct('@'):
		p.next() // the annotation's name; its arguments are a group
	case t.kind == tokWord && len(p.decl) == 0:
		p.rec.add(t.toSpan(), "enumerator", *p.topScope())
		p.pushToken(t)
	}
}

// readAngle reads a group of type arguments whose "<" is t, if the text up to the ">"
// looks like one. Otherwise it consumes nothing.
func (p *declParser) readAngle(t token) (token, bool) {
	end, ok := p.angleEnd()
	if !ok {
		return t, false
	}
	p.pos = end
	t.kind, t.end = tokGroup, int32(end)
	return t, true
}

// maxAngle bounds the lookahead for type arguments, in bytes.
const maxAngle = 1024

// angleEnd returns the offset after the ">" that closes the "<" just read.
func (s *scanner) angleEnd() (int, bool) {
	if s.pos < s.noAngleTil {
		return 0, false
	}
	depth, parens := 1, 0
	limit := min(len(s.src), s.pos+maxAngle)
	for i := s.pos; i < limit; i++ {
		switch s.src[i] {
		case '<':
			depth++
		case '>':
			if s.src[i-1] == '-' || s.src[i-1] == '=' {
				continue // an arrow
			}
			if depth--; depth == 0 {
				return i + 1, true
			}
		case '(':
			parens++
		case ')':
			if parens--; parens < 0 {
				s.noAngleTil = i
				return 0, false
			}
		case ';', '{', '}':
			s.noAngleTil = i
			return 0, false
		}
	}
	s.noAngleTil = limit
	return 0, false
}

// defineName records the name token t in the innermost scope.
func (p *declParser) defineName(t token, kind code.SymbolKind) int32 {
	return p.rec.add(t.toSpan(), kind, *p.topScope())
}

// indexWord returns the index of the first token that is one of the keywords, or -1.
func indexWord(decl []token, words ...word) int {
	for i, t := range decl {
		if t.kind != tokWord || t.word == wNone {
			continue
		}
		for _, w := range words {
			if t.word == w {
				return i
			}
		}
	}
	return -1
}

// indexPunct returns the index of the first punctuation ch in decl, or -1.
func indexPunct(decl []token, ch byte) int {
	for i, t := range decl {
		if t.isPunct(ch) {
			return i
		}
	}
	return -1
}
