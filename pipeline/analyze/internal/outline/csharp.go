package outline

import "github.com/quarrysearch/quarry/schemas/code"

var csharpLexis = newLexis("", "\"'/#@$", newWordTable(wAbstract, wAsync, wBool, wChar, wClass, wConst, wDelegate, wDouble, wEnum,
	wEvent, wExplicit, wExtern, wFloat, wGlobal, wInt, wInterface, wInternal, wLong, wNamespace, wNew, wOperator,
	wOverride, wPartial, wPrivate, wProtected, wPublic, wReadonly, wRecord, wRef, wReturn, wSealed, wShort, wStatic,
	wStruct, wThis, wUnsafe, wUsing, wVirtual, wVoid, wVolatile, wWhere), csharpSpecial)

func csharpSpecial(s *scanner, c byte) token {
	switch c {
	case '/':
		return s.slashComment()
	case '#':
		if s.firstOnLine(s.pos) {
			s.scanConditional()
			return token{}
		}
		return s.punctToken(1)
	case '@', '$':
		return s.prefixedString()
	case '"':
		if s.hasPrefix(`"""`) {
			return s.rawQuotes(s.pos)
		}
	}
	return s.scanQuoted(c, false)
}

// prefixedString reads @"verbatim", $"interpolated" and their combinations. After a single
// "@", an identifier is a name even if it is spelled like a keyword.
func (s *scanner) prefixedString() token {
	start, verbatim, interpolated := s.pos, false, false
	for ; s.peekByte(0) == '@' || s.peekByte(0) == '$'; s.pos++ {
		verbatim = verbatim || s.src[s.pos] == '@'
		interpolated = interpolated || s.src[s.pos] == '$'
	}
	switch {
	case s.hasPrefix(`"""`) && !verbatim:
		return s.rawQuotes(start)
	case s.peekByte(0) != '"':
		if s.pos < len(s.src) && s.lex.class[s.src[s.pos]] == classWord {
			start = s.pos
			for s.pos < len(s.src) && s.lex.class[s.src[s.pos]] >= classWord {
				s.pos++
			}
			return token{shape: shape{kind: tokWord}, start: int32(start), end: int32(s.pos)}
		}
		return token{}
	}
	s.pos++
	s.skipInterpolated(verbatim, interpolated, 0)
	return s.literalToken(start)
}

// rawQuotes reads a literal between runs of three or more quotes.
func (s *scanner) rawQuotes(start int) token {
	quotes := s.pos
	for s.peekByte(0) == '"' {
		s.pos++
	}
	return s.scanUntil(start, s.pos, string(s.src[quotes:s.pos]))
}

// maxHoles bounds the nesting of interpolated strings.
const maxHoles = 8

// skipInterpolated reads the text of a string after its opening quote.
func (s *scanner) skipInterpolated(verbatim, holes bool, depth int) {
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		switch {
		case c == '"' && verbatim && s.peekByte(1) == '"':
			s.pos += 2
		case c == '"':
			s.pos++
			return
		case c == '\\' && !verbatim:
			s.pos = min(s.pos+2, len(s.src))
		case c == '\n' && !verbatim:
			return
		case c == '{' && holes && s.peekByte(1) == '{':
			s.pos += 2
		case c == '{' && holes:
			s.pos++
			s.skipHole(verbatim, depth+1)
		default:
			s.pos++
		}
	}
}

// skipHole skips the expression in an interpolated string up to its "}".
func (s *scanner) skipHole(verbatim bool, depth int) {
	braces := 1
	for s.pos < len(s.src) && depth <= maxHoles {
		switch c := s.src[s.pos]; {
		case c == '{':
			braces++
		case c == '}':
			if braces--; braces == 0 {
				s.pos++
				return
			}
		case c == '"':
			nested := s.src[s.pos-1] == '$' || s.src[s.pos-1] == '@'
			s.pos++
			s.skipInterpolated(s.src[s.pos-2] == '@', nested, depth)
			continue
		case c == '\n' && !verbatim:
			return
		}
		s.pos++
	}
}

// csharpDialect parses declarations of C#.
type csharpDialect struct{}

var _ dialect = csharpDialect{}

func (csharpDialect) handleToken(p *declParser, t token) bool {
	switch {
	case t.isGroup('[') && len(p.decl) == 0:
		return true // an attribute
	case t.isPunct('<'):
		if indexWord(p.decl, wOperator) >= 0 {
			return false
		}
		if t, ok := p.readAngle(t); ok {
			p.pushToken(t)
			return true
		}
	}
	return false
}

func (d csharpDialect) handleBody(p *declParser, open token) {
	fn := d.methodIndex(p.decl)
	typ := typeKeyword(p.decl)
	switch {
	case len(p.decl) == 0:
		p.skipBody(-1)
	case p.decl[0].word == wNamespace:
		d.enterNamespace(p)
	case fn == 0 && p.topScope().form == formType && string(p.tokenText(p.decl[0])) == "extension":
		p.enterScope(p.inheritScope(formType)) // its members belong to the static class
	case typ >= 0 && (fn < 0 || typ < fn):
		d.enterType(p, typ)
	case indexPunct(p.decl, '=') >= 0 && indexWord(p.decl, wOperator) < 0:
		p.skipInitializer(open)
	case fn >= 0:
		p.skipBody(d.defineMethod(p, fn))
	case p.decl[len(p.decl)-1].isName():
		kind := code.SymbolKind("property")
		if indexWord(p.decl, wEvent) >= 0 {
			kind = "event"
		}
		p.skipBody(p.defineName(p.decl[len(p.decl)-1], kind))
	default:
		p.skipBody(-1)
	}
}

// methodIndex returns the index of the token that names a method: a name, or an operator
// keyword.
func (csharpDialect) methodIndex(decl []token) int {
	if op := indexWord(decl, wOperator); op >= 0 {
		return op
	}
	return methodName(decl)
}

func (d csharpDialect) defineMethod(p *declParser, fn int) int32 {
	name := p.decl[fn]
	if name.word == wOperator {
		for _, t := range p.decl[fn+1:] {
			if t.isGroup('(') {
				break
			}
			name.end = t.end
		}
	}
	return p.defineName(name, "method")
}

// enterNamespace enters a namespace. A namespace that ends in ";" extends to the end of
// the file.
func (d csharpDialect) enterNamespace(p *declParser) {
	if len(p.decl) < 2 {
		p.enterScope(p.inheritScope(formNamespace))
		return
	}
	name := span{p.decl[1].start, p.decl[len(p.decl)-1].end}
	def := p.rec.add(name, "namespace", scope{})
	p.enterScope(scope{form: formNamespace, name: name, kind: "namespace", def: def})
}

func (d csharpDialect) enterType(p *declParser, keyword int) {
	name, kind, f := p.decl[keyword+1], typeKind(p.decl[keyword].word), formType
	if kind == "enum" {
		f = formEnum
	}
	s := scope{form: f, name: name.toSpan(), kind: kind, def: p.defineName(name, kind)}
	d.defineRecordProperties(p, keyword, s)
	p.enterScope(s)
}

// defineRecordProperties records the properties in the header of record s, whose keyword
// is "record", or "struct" or "class" after it.
func (csharpDialect) defineRecordProperties(p *declParser, keyword int, s scope) {
	if p.decl[keyword].word != wRecord && (keyword == 0 || p.decl[keyword-1].word != wRecord) {
		return
	}
	if group, ok := componentsOf(p.decl, keyword+1); ok {
		p.defineComponents(s, group, "property", false)
	}
}

func typeKind(w word) code.SymbolKind {
	switch w {
	case wStruct:
		return "struct"
	case wInterface:
		return "interface"
	case wEnum:
		return "enum"
	case wTrait:
		return "trait"
	}
	return "class"
}

func (d csharpDialect) handleStatement(p *declParser) {
	decl := p.decl
	defer p.reset()
	if len(decl) < 2 {
		return
	}
	switch decl[0].word {
	case wNamespace:
		d.enterNamespace(p)
		return
	case wExtern:
		if p.topScope().form != formType {
			return // extern alias X;
		}
	case wUsing, wGlobal:
		i := indexWord(decl, wUsing) + 1
		if i > 0 && i < len(decl) && decl[i].word == wUnsafe {
			i++
		}
		if i > 0 && i+1 < len(decl) && decl[i].isName() && decl[i+1].isPunct('=') {
			p.defineName(decl[i], "typedef") // using X = Y;
		}
		return
	}
	fn, typ := d.methodIndex(decl), typeKeyword(decl)
	arrow := indexPunct(decl, '=')
	switch {
	case indexWord(decl, wDelegate) >= 0 && fn >= 0 && p.topScope().form != formFunction:
		p.defineName(decl[fn], "typedef")
	case typ >= 0 && fn == typ+1:
		kind := typeKind(decl[typ].word) // record R(int X);
		def := p.defineName(decl[fn], kind)
		d.defineRecordProperties(p, typ, scope{form: formType, name: decl[fn].toSpan(), kind: kind, def: def})
	case typ >= 0 && fn < 0 && arrow < 0 && p.topScope().form != formFunction:
		p.defineName(decl[typ+1], typeKind(decl[typ].word)) // class C;
	case p.topScope().form != formType:
	case fn >= 0:
		d.defineMethod(p, fn)
	case arrow > 0 && arrow+1 < len(decl) && decl[arrow+1].isPunct('>') && decl[arrow-1].isName():
		p.defineName(decl[arrow-1], "property")
	case indexWord(decl, wEvent) >= 0:
		p.defineFields(decl, "event")
	default:
		p.defineFields(decl, "field")
	}
}

func (csharpDialect) handleClose(*declParser, scope) {}
