package outline

// member reads one member of a class or interface, whose first token is t.
func (p *jsParser) member(t token) {
	name := p.modifiers(t)
	if name.is('[') { // a computed name or an index signature
		p.jsGroup(name)
		p.afterName(token{}, p.take())
		return
	}
	if name.kind == tokPunct {
		if name.is('(') || name.is('<') {
			p.afterName(token{}, name)
			return
		}
		if name.start != t.start {
			p.unread(name)
		}
		return
	}
	if name.kind == tokWord && p.src[name.start] == '#' {
		name.start++ // a private name is found without its mark
	}
	if name.kind != tokWord {
		name = token{} // a string or number
	}
	p.afterName(name, p.take())
}

// modifiers reads words such as static, async and get, and returns the name
// behind them. A modifier before "(", "=", ":" and the like is itself the name.
func (p *jsParser) modifiers(t token) token {
	for t.kind == tokWord && modifier(t.word) {
		next := p.take()
		if next.is('*') {
			next = p.take()
		}
		if next.kind != tokWord && next.kind != tokString && next.kind != tokNumber && !next.is('[') || next.newline && t.word != wReadonly && t.word != wStatic && t.word != wPublic {
			p.unread(next)
			return t
		}
		t = next
	}
	return t
}

func modifier(w word) bool {
	switch w {
	case wAbstract, wAsync, wDeclare, wGet, wOverride, wPrivate, wProtected, wPublic, wReadonly, wSet, wStatic:
		return true
	}
	return false
}

// afterName reads what follows the name of a member: parameters and a body, or
// a type and a value.
func (p *jsParser) afterName(name, t token) {
	for t.is('?') || t.is('!') {
		t = p.take()
	}
	if t.is('<') {
		p.typeArguments(t)
		t = p.take()
	}
	if !t.is('(') {
		if name.kind == tokWord {
			p.rec.add(name.span(), "property", *p.top())
		}
		p.memberValue(t)
		return
	}
	in := *p.top()
	def := int32(-1)
	if name.kind == tokWord {
		def = p.rec.add(name.span(), "method", in)
	}
	s := p.inherit(formFunction)
	if s.def = def; def >= 0 {
		s.name, s.kind = name.span(), "method"
	}
	p.functionHeader(t, s)
}

// memberValue reads the type and value of a property from t on, to its ";" or
// to the line break that ends it.
func (p *jsParser) memberValue(t token) {
	prev := token{shape: shape{kind: tokWord}}
	for {
		switch {
		case t.kind == tokEOF, t.is(';'), t.is(','):
			return
		case t.is('}'), t.newline && !continues(prev, t):
			p.unread(t)
			return
		case t.is('('), t.is('{'), t.is('['):
			t = p.jsGroup(t)
		case t.is('<') && prev.kind == tokWord:
			if end, ok := p.angleEnd(); ok {
				p.pos = end
				t = token{shape: shape{kind: tokGroup, ch: '<'}}
			}
		}
		prev = t
		t = p.take()
	}
}

// continues reports whether a value goes on across the line break before t.
func continues(prev, t token) bool {
	if prev.kind == tokPunct {
		return true
	}
	if t.kind != tokPunct {
		return false
	}
	switch t.ch {
	case '.', '|', '&', '?', ':', '=', '+', '-', '*', '/', '(', ')', '>', '<':
		return true
	}
	return false
}

// typeArguments reads a list in angle brackets whose "<" is t.
func (p *jsParser) typeArguments(open token) token {
	prev := open
	for depth := 1; depth > 0; {
		t := p.take()
		switch {
		case t.kind == tokEOF:
			depth = 0
		case t.is(';'), t.is('}'), t.is(')'):
			p.unread(t)
			depth = 0
		case t.is('<'):
			depth++
		case t.is('>') && !(prev.is('=') && prev.end == t.start):
			depth--
		case t.is('('), t.is('{'), t.is('['):
			t = p.jsGroup(t)
		}
		prev = t
	}
	open.kind, open.end = tokGroup, int32(p.pos)
	return open
}

// jsGroup skips a bracketed group by its tokens, since templates and regular
// expressions in it can only be told by what stands before them.
func (p *jsParser) jsGroup(open token) token {
	depth, holes := 1, []int(nil)
	for depth > 0 {
		t := p.next()
		if p.templateHole {
			p.templateHole = false
			holes = append(holes, depth)
			depth++
			continue
		}
		if t.kind == tokEOF {
			break
		}
		if t.kind != tokPunct {
			continue
		}
		switch t.ch {
		case '(', '{', '[':
			depth++
		case ')', '}', ']':
			depth--
			if n := len(holes); t.ch == '}' && n > 0 && holes[n-1] == depth {
				holes = holes[:n-1]
				p.template()
				p.prev = token{shape: shape{kind: tokString}}
				if p.templateHole {
					p.templateHole = false
					holes = append(holes, depth)
					depth++
				}
			}
		}
	}
	open.kind, open.end = tokGroup, int32(p.pos)
	return open
}
