package outline

import "github.com/quarrysearch/quarry/schemas/code"

// function reads "function* name" up to its parameters.
func (p *jsParser) function() {
	name, in := p.target, p.targetIn
	p.target = token{}
	t := p.take()
	if t.is('*') {
		t = p.take()
	}
	if t.kind == tokWord {
		name, in = t, *p.top()
		t = p.take()
	}
	def := int32(-1)
	if name.kind == tokWord {
		def = p.defineValue(name, functionKind(in), in)
	}
	s := p.inherit(formFunction)
	if s.def = def; def >= 0 {
		s.name, s.kind = name.span(), "function"
	}
	p.functionHeader(t, s)
}

// functionHeader reads type parameters, parameters and result from t on and
// enters the body as s.
func (p *jsParser) functionHeader(t token, s scope) {
	prev := token{}
	seen := false // the parameters
	for {
		switch {
		case t.kind == tokEOF:
			return
		case t.is(';'), t.is('}'), t.is(')'):
			p.unread(t)
			return
		case t.is('{') && seen && !typeContinues(prev):
			p.enter(s)
			p.prev, p.current = t, t
			return
		case seen && t.newline && prev.kind != tokPunct && !t.is('{'):
			p.unread(t) // an overload without a semicolon
			return
		case t.is('('), t.is('{'), t.is('['):
			seen = seen || t.ch == '('
			t = p.jsGroup(t)
		case t.is('<'):
			t = p.typeArguments(t)
		}
		prev = t
		t = p.take()
	}
}

// typeContinues reports whether a type is still to come after t, so that a "{"
// begins an object type and no body.
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

// class reads "class Name extends … {".
func (p *jsParser) class() {
	name, in := p.target, *p.top()
	p.target = token{}
	t := p.take()
	if t.isName() {
		name = t
		t = p.take()
	} else if t.kind != tokWord && !t.is('{') {
		p.unread(t)
		return
	}
	s := p.inherit(formType)
	s.def = -1
	if name.kind == tokWord {
		s.def = p.defineValue(name, "class", in)
		s.name, s.kind = name.span(), "class"
	}
	p.typeHeader(t, s)
}

// typeHeader reads from t to the "{" of a class or interface and enters it.
func (p *jsParser) typeHeader(t token, s scope) {
	for {
		switch {
		case t.kind == tokEOF:
			return
		case t.is(';'), t.is('}'), t.is(')'):
			p.unread(t)
			return
		case t.is('{'):
			p.enter(s)
			p.current, p.prev = t, t
			return
		case t.is('('), t.is('['):
			p.jsGroup(t)
		case t.is('<'):
			p.typeArguments(t)
		}
		t = p.take()
	}
}

// typeBlock reads "interface Name", "enum Name" or "namespace Name".
func (p *jsParser) typeBlock(keyword token, kind code.SymbolKind, f form) {
	name := p.take()
	if !name.isName() && !(f == formNamespace && name.kind == tokString) || name.newline {
		p.unread(name)
		return
	}
	s := p.inherit(f)
	t := p.take()
	for t.is('.') { // namespace a.b
		last := p.take()
		name.end = last.end
		t = p.take()
	}
	if !t.is('{') && !t.is('<') && t.word != wExtends {
		p.unread(t)
		return
	}
	if name.kind == tokString {
		p.typeHeader(t, s)
		return
	}
	s.def = p.rec.add(name.span(), kind, *p.top())
	s.name, s.kind = name.span(), kind
	p.typeHeader(t, s)
}

// alias reads "type Name<…> =".
func (p *jsParser) alias(keyword token) {
	name := p.take()
	if !name.isName() || name.newline {
		p.unread(name)
		return
	}
	t := p.take()
	if t.is('=') || t.is('<') {
		p.rec.add(name.span(), "alias", *p.top())
		if t.is('<') {
			p.typeArguments(t)
		}
		return
	}
	p.unread(t)
}

// variable records the first name of "const name =" at the top level of a file
// or namespace.
func (p *jsParser) variable(keyword token, kind code.SymbolKind) {
	name := p.take()
	if name.word == wEnum { // const enum
		p.typeBlock(name, "enum", formEnum)
		return
	}
	if !name.isName() {
		p.unread(name)
		return
	}
	p.current = name
	if f := p.top().form; f != formFile && f != formNamespace {
		return
	}
	p.variableDef = p.rec.add(name.span(), kind, *p.top())
}
