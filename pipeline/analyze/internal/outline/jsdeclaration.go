package outline

import "github.com/quarrysearch/quarry/schemas/code"

// readFunction reads "function* name" up to its parameters.
func (p *jsParser) readFunction() {
	name, in := p.target, p.targetIn
	p.target = token{}
	t := p.takeToken()
	if t.isPunct('*') {
		t = p.takeToken()
	}
	if t.kind == tokWord {
		name, in = t, *p.topScope()
		t = p.takeToken()
	}
	def := int32(-1)
	if name.kind == tokWord {
		def = p.defineValue(name, functionKind(in), in)
	}
	s := p.inheritScope(formFunction)
	if s.def = def; def >= 0 {
		s.name, s.kind = name.toSpan(), "function"
	}
	p.functionHeader(t, s)
}

// functionHeader reads type parameters, parameters and result from t on, and enters the
// body as s.
func (p *jsParser) functionHeader(t token, s scope) {
	prev := token{}
	seen := false // the parameters were read
	for {
		switch {
		case t.kind == tokEOF:
			return
		case t.isPunct(';'), t.isPunct('}'), t.isPunct(')'):
			p.unreadToken(t)
			return
		case t.isPunct('{') && seen && !typeContinues(prev):
			p.enterScope(s)
			p.prev, p.current = t, t
			return
		case seen && t.newline && prev.kind != tokPunct && !t.isPunct('{'):
			p.unreadToken(t) // an overload without a semicolon
			return
		case t.isPunct('('), t.isPunct('{'), t.isPunct('['):
			first := !seen && t.ch == '('
			seen = seen || first
			t = p.jsGroup(t)
			if first && s.kind == "method" && p.topScope().form == formType && string(p.src[s.name.start:s.name.end]) == "constructor" {
				p.defineParameterProperties(t)
			}
		case t.isPunct('<'):
			t = p.typeArguments(t)
		}
		prev = t
		t = p.takeToken()
	}
}

// typeContinues reports whether a type must follow t, so that a "{" begins an object type
// and not a body.
func typeContinues(t token) bool {
	if t.kind != tokPunct {
		return t.word == wExtends || t.word == wIn
	}
	switch t.ch {
	case ':', '|', '&', '>', ',', '=', '?':
		return true
	}
	return false
}

// readClass reads "class Name extends … {".
func (p *jsParser) readClass() {
	name, in := p.target, *p.topScope()
	p.target = token{}
	t := p.takeToken()
	if t.isName() {
		name = t
		t = p.takeToken()
	} else if t.kind != tokWord && !t.isPunct('{') {
		p.unreadToken(t)
		return
	}
	s := p.inheritScope(formType)
	s.def = -1
	if name.kind == tokWord {
		s.def = p.defineValue(name, "class", in)
		s.name, s.kind = name.toSpan(), "class"
	}
	p.typeHeader(t, s)
}

// typeHeader reads from t to the "{" of a class or interface and enters it.
func (p *jsParser) typeHeader(t token, s scope) {
	for {
		switch {
		case t.kind == tokEOF:
			return
		case t.isPunct(';'), t.isPunct('}'), t.isPunct(')'):
			p.unreadToken(t)
			return
		case t.isPunct('{'):
			p.enterScope(s)
			p.current, p.prev = t, t
			return
		case t.isPunct('('), t.isPunct('['):
			p.jsGroup(t)
		case t.isPunct('<'):
			p.typeArguments(t)
		}
		t = p.takeToken()
	}
}

// typeBlock reads "interface Name", "enum Name" or "namespace Name".
func (p *jsParser) typeBlock(keyword token, kind code.SymbolKind, f form) {
	name := p.takeToken()
	if !name.isName() && !(f == formNamespace && name.kind == tokString) || name.newline {
		p.unreadToken(name)
		return
	}
	s := p.inheritScope(f)
	t := p.takeToken()
	for t.isPunct('.') { // namespace a.b
		last := p.takeToken()
		name.end = last.end
		t = p.takeToken()
	}
	if !t.isPunct('{') && !t.isPunct('<') && t.word != wExtends {
		p.unreadToken(t)
		return
	}
	if name.kind == tokString {
		p.typeHeader(t, s)
		return
	}
	s.def = p.rec.add(name.toSpan(), kind, *p.topScope())
	s.name, s.kind = name.toSpan(), kind
	p.typeHeader(t, s)
}

// readAlias reads "type Name<…> =". The members of an object type that follows belong to the
// alias.
func (p *jsParser) readAlias(keyword token) {
	name := p.takeToken()
	if !name.isName() || name.newline {
		p.unreadToken(name)
		return
	}
	t := p.takeToken()
	if t.isPunct('=') || t.isPunct('<') {
		s := p.inheritScope(formType)
		s.def = p.rec.add(name.toSpan(), "alias", *p.topScope())
		if t.isPunct('<') {
			p.typeArguments(t)
			t = p.takeToken()
		}
		if t.isPunct('=') {
			p.current = t
			t = p.takeToken()
		}
		if !t.isPunct('{') {
			p.unreadToken(t)
			return
		}
		s.name, s.kind = name.toSpan(), "alias"
		p.enterScope(s)
		p.current, p.prev = t, t
		return
	}
	p.unreadToken(t)
}
