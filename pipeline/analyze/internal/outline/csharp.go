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
			s.skipLine()
			return token{}
		}
		return s.punct(1)
	case '@', '$':
		return s.prefixedString()
	case '"':
		if s.at(`"""`) {
			return s.rawQuotes(s.pos)
		}
	}
	return s.quoted(c, false)
}

// prefixedString reads @"verbatim", $"interpolated" and their combinations; an
// "@" before an identifier is dropped.
func (s *scanner) prefixedString() token {
	start, verbatim, interpolated := s.pos, false, false
	for ; s.peek(0) == '@' || s.peek(0) == '$'; s.pos++ {
		verbatim = verbatim || s.src[s.pos] == '@'
		interpolated = interpolated || s.src[s.pos] == '$'
	}
	switch {
	case s.at(`"""`) && !verbatim:
		return s.rawQuotes(start)
	case s.peek(0) != '"':
		return token{}
	}
	s.pos++
	s.interpolated(verbatim, interpolated, 0)
	return s.literal(start)
}

// rawQuotes reads a literal between runs of three or more quotes.
func (s *scanner) rawQuotes(start int) token {
	quotes := s.pos
	for s.peek(0) == '"' {
		s.pos++
	}
	return s.until(start, s.pos, string(s.src[quotes:s.pos]))
}

// maxHoles bounds the nesting of interpolated strings.
const maxHoles = 8

// interpolated reads the text of a string behind its opening quote.
func (s *scanner) interpolated(verbatim, holes bool, depth int) {
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		switch {
		case c == '"' && verbatim && s.peek(1) == '"':
			s.pos += 2
		case c == '"':
			s.pos++
			return
		case c == '\\' && !verbatim:
			s.pos = min(s.pos+2, len(s.src))
		case c == '\n' && !verbatim:
			return
		case c == '{' && holes && s.peek(1) == '{':
			s.pos += 2
		case c == '{' && holes:
			s.pos++
			s.hole(verbatim, depth+1)
		default:
			s.pos++
		}
	}
}

// hole reads the expression in an interpolated string up to its "}".
func (s *scanner) hole(verbatim bool, depth int) {
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
			s.interpolated(s.src[s.pos-2] == '@', nested, depth)
			continue
		case c == '\n' && !verbatim:
			return
		}
		s.pos++
	}
}

// csharpDialect judges declarations of C#.
type csharpDialect struct{}

var _ dialect = csharpDialect{}

func (csharpDialect) token(p *declParser, t token) bool {
	switch {
	case t.isGroup('[') && len(p.decl) == 0:
		return true // an attribute
	case t.is('<'):
		if find(p.decl, wOperator) >= 0 {
			return false
		}
		if t, ok := p.angle(t); ok {
			p.push(t)
			return true
		}
	}
	return false
}

func (d csharpDialect) body(p *declParser, open token) {
	fn := d.method(p.decl)
	typ := typeKeyword(p.decl)
	switch {
	case len(p.decl) == 0:
		p.skipBody(-1)
	case p.decl[0].word == wNamespace:
		d.namespace(p)
	case typ >= 0 && (fn < 0 || typ < fn):
		d.enterType(p, typ)
	case indexPunct(p.decl, '=') >= 0 && find(p.decl, wOperator) < 0:
		p.initializer(open)
	case fn >= 0:
		p.skipBody(d.defineMethod(p, fn))
	case p.decl[len(p.decl)-1].isName():
		kind := code.SymbolKind("property")
		if find(p.decl, wEvent) >= 0 {
			kind = "event"
		}
		p.skipBody(p.define(p.decl[len(p.decl)-1], kind))
	default:
		p.skipBody(-1)
	}
}

// method returns the index of the token that names a method: a name, or the
// keyword of an operator.
func (csharpDialect) method(decl []token) int {
	if op := find(decl, wOperator); op >= 0 {
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
	return p.define(name, "method")
}

// namespace enters a namespace; one that ends in ";" lasts to the end of the file.
func (d csharpDialect) namespace(p *declParser) {
	if len(p.decl) < 2 {
		p.enter(p.inherit(formNamespace))
		return
	}
	name := span{p.decl[1].start, p.decl[len(p.decl)-1].end}
	def := p.rec.add(name, "namespace", scope{})
	p.enter(scope{form: formNamespace, name: name, kind: "namespace", def: def})
}

func (d csharpDialect) enterType(p *declParser, keyword int) {
	name, kind, f := p.decl[keyword+1], typeKind(p.decl[keyword].word), formType
	if kind == "enum" {
		f = formEnum
	}
	p.enter(scope{form: f, name: name.span(), kind: kind, def: p.define(name, kind)})
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

func (d csharpDialect) statement(p *declParser) {
	decl := p.decl
	defer p.reset()
	if len(decl) < 2 {
		return
	}
	switch decl[0].word {
	case wNamespace:
		d.namespace(p)
		return
	case wUsing, wGlobal, wExtern:
		return
	}
	fn, typ := d.method(decl), typeKeyword(decl)
	arrow := indexPunct(decl, '=')
	switch {
	case find(decl, wDelegate) >= 0 && fn >= 0 && p.top().form != formFunction:
		p.define(decl[fn], "typedef")
	case typ >= 0 && fn == typ+1:
		p.define(decl[fn], typeKind(decl[typ].word)) // record R(int X);
	case p.top().form != formType:
	case fn >= 0:
		d.defineMethod(p, fn)
	case arrow > 0 && arrow+1 < len(decl) && decl[arrow+1].is('>') && decl[arrow-1].isName():
		p.define(decl[arrow-1], "property")
	case find(decl, wEvent) >= 0:
		p.fields(decl, "event")
	default:
		p.fields(decl, "field")
	}
}

func (csharpDialect) closed(*declParser, scope) {}
