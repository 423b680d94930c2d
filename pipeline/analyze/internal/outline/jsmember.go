package outline

// readMember reads one member of a class or interface, whose first token is t.
func (p *jsParser) readMember(t token) {
	name := p.skipModifiers(t)
	if name.kind == tokWord && (name.word == wStatic || name.word == wNew) && p.skipNameless(name) {
		return
	}
	if name.isPunct('[') { // a computed name or an index signature
		p.jsGroup(name)
		p.afterName(token{}, p.takeToken())
		return
	}
	if name.kind == tokPunct {
		if name.isPunct('(') || name.isPunct('<') {
			p.afterName(token{}, name)
			return
		}
		if name.start != t.start {
			p.unreadToken(name)
		}
		return
	}
	if name.kind == tokWord && p.src[name.start] == '#' {
		name.start++ // the symbol omits the mark of a private name
	}
	if name.kind != tokWord {
		name = token{} // a string or number
	}
	p.afterName(name, p.takeToken())
}

// skipNameless reads a static block, or the construct signature of an interface, which have
// no name, and reports whether the member is one.
func (p *jsParser) skipNameless(t token) bool {
	next := p.takeToken()
	switch {
	case t.word == wStatic && next.isPunct('{'):
		p.jsGroup(next)
		return true
	case t.word == wNew && p.topScope().kind != "class" && (next.isPunct('(') || next.isPunct('<')):
		p.afterName(token{}, next)
		return true
	}
	p.unreadToken(next)
	return false
}

// skipModifiers skips words such as static, async and get, and returns the following
// name. A modifier before "(", "=", ":" and the like is itself the name.
func (p *jsParser) skipModifiers(t token) token {
	for t.kind == tokWord && (isModifier(t.word) || t.end-t.start == 8 && string(p.tokenText(t)) == "accessor") {
		next := p.takeToken()
		if next.isPunct('*') {
			next = p.takeToken()
		}
		if next.kind != tokWord && next.kind != tokString && next.kind != tokNumber && !next.isPunct('[') || next.newline && t.word != wReadonly && t.word != wStatic && t.word != wPublic {
			p.unreadToken(next)
			return t
		}
		t = next
	}
	return t
}

func isModifier(w word) bool {
	switch w {
	case wAbstract, wAsync, wDeclare, wGet, wOverride, wPrivate, wProtected, wPublic, wReadonly, wSet, wStatic:
		return true
	}
	return false
}

// afterName reads the text after a member's name: parameters and a body, or a type and a
// value.
func (p *jsParser) afterName(name, t token) {
	for t.isPunct('?') || t.isPunct('!') {
		t = p.takeToken()
	}
	if t.isPunct('<') {
		p.typeArguments(t)
		t = p.takeToken()
	}
	if !t.isPunct('(') {
		if name.kind == tokWord {
			p.rec.add(name.toSpan(), "property", *p.topScope())
		}
		p.memberValue(t)
		return
	}
	in := *p.topScope()
	def := int32(-1)
	if name.kind == tokWord {
		def = p.rec.add(name.toSpan(), "method", in)
	}
	s := p.inheritScope(formFunction)
	if s.def = def; def >= 0 {
		s.name, s.kind = name.toSpan(), "method"
	}
	p.functionHeader(t, s)
}

// memberValue reads the type and value of a property from t on, up to its ";" or the line
// break that ends it.
func (p *jsParser) memberValue(t token) {
	prev := token{shape: shape{kind: tokWord}}
	for {
		switch {
		case t.kind == tokEOF, t.isPunct(';'), t.isPunct(','):
			return
		case t.isPunct('}'), t.newline && !continuesValue(prev, t):
			p.unreadToken(t)
			return
		case t.isPunct('('), t.isPunct('{'), t.isPunct('['):
			t = p.jsGroup(t)
		case t.isPunct('<') && prev.kind == tokWord:
			if end, ok := p.angleEnd(); ok {
				p.pos = end
				t = token{shape: shape{kind: tokGroup, ch: '<'}}
			}
		}
		prev = t
		t = p.takeToken()
	}
}

// continuesValue reports whether a value continues after the line break before t.
func continuesValue(prev, t token) bool {
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
		t := p.takeToken()
		switch {
		case t.kind == tokEOF:
			depth = 0
		case t.isPunct(';'), t.isPunct('}'), t.isPunct(')'):
			p.unreadToken(t)
			depth = 0
		case t.isPunct('<'):
			depth++
		case t.isPunct('>') && !(prev.isPunct('=') && prev.end == t.start):
			depth--
		case t.isPunct('('), t.isPunct('{'), t.isPunct('['):
			t = p.jsGroup(t)
		}
		prev = t
	}
	open.kind, open.end = tokGroup, int32(p.pos)
	return open
}

// jsGroup skips a bracketed group token by token, because only the previous token shows
// whether a template or regular expression begins.
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
				p.scanTemplate()
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

// defineParameterProperties records the parameters of a constructor that have a modifier,
// such as "private http: Http". It reads the group again, because the header skipped it.
func (p *jsParser) defineParameterProperties(group token) {
	pos, prev, newline, noAngleTil := p.pos, p.prev, p.newline, p.noAngleTil
	p.noAngleTil = 0
	p.pos, p.prev = int(group.start)+1, group
	p.prev.kind = tokPunct
	modified, named := false, false // a modifier was read; the name or another part was read
	for {
		t := p.takeToken()
		switch {
		case t.kind == tokEOF || t.start >= group.end-1:
			p.pos, p.prev, p.newline, p.noAngleTil = pos, prev, newline, noAngleTil
			return
		case t.isPunct(','):
			modified, named = false, false
		case t.isPunct('('), t.isPunct('['), t.isPunct('{'):
			p.jsGroup(t)
		case t.isPunct('<'):
			if end, ok := p.angleEnd(); ok {
				p.pos = end
			}
		case t.isPunct(':'), t.isPunct('='):
			named = true
		case t.kind == tokWord && !named:
			if c := p.peekByte(0); isModifier(t.word) && c != ':' && c != ',' && c != '?' {
				modified = true
				continue
			}
			if modified {
				p.rec.add(t.toSpan(), "property", *p.topScope())
				named = true
			}
		}
	}
}
