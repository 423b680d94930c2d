package outline

import "github.com/quarrysearch/quarry/schemas/code"

// readVariable reads "const name: Type =" and makes the name the target of its value. At
// the top level of a file or namespace, it records the names of the declaration; the
// comma before the next declarator is handled by readDeclarator.
func (p *jsParser) readVariable(kind code.SymbolKind) {
	cast := p.before.kind == tokWord && string(p.tokenText(p.before)) == "as" // x as const
	name := p.takeToken()
	if name.word == wEnum { // const enum
		p.typeBlock(name, "enum", formEnum)
		return
	}
	f := p.topScope().form
	recorded := (f == formFile || f == formNamespace) && !cast
	pattern := name.isPunct('{') || name.isPunct('[')
	if !name.isName() && !(pattern && recorded) || cast && name.newline {
		p.unreadToken(name)
		return
	}
	switch {
	case recorded:
		p.declaring, p.declaringDepth, p.angled = kind, len(p.stack), false
	case p.types:
		kind = ""
	default:
		p.current = name // the "=" after it is handled like that of an assignment
		return
	}
	if pattern {
		p.readPattern(name, kind)
		return
	}
	p.readBinding(name, kind)
}

// readDeclarator reads the declarator after a comma of the declaration that is being read
// at the top level. It records nothing if the comma may separate type arguments or be
// part of the text of JSX instead.
func (p *jsParser) readDeclarator() {
	name := p.takeToken()
	switch {
	case name.isName():
		if p.angled && !p.peekEquals() {
			p.current = name
			return
		}
		p.readBinding(name, p.declaring)
	case !p.angled && (name.isPunct('{') || name.isPunct('[')):
		p.readPattern(name, p.declaring)
	default:
		p.unreadToken(name)
	}
}

// peekEquals reports whether "=" comes next, which is not part of "==" or "=>".
func (s *scanner) peekEquals() bool {
	i := s.pos
	for i < len(s.src) && (s.src[i] == ' ' || s.src[i] == '\t') {
		i++
	}
	return i < len(s.src) && s.src[i] == '=' && (i+1 >= len(s.src) || s.src[i+1] != '=' && s.src[i+1] != '>')
}

// readBinding reads the type of the variable name and the "=" before its value. It records
// the variable with the given kind, or not if the kind is empty.
func (p *jsParser) readBinding(name token, kind code.SymbolKind) {
	p.current = name
	if kind != "" {
		p.variableDef = p.rec.add(name.toSpan(), kind, *p.topScope())
	}
	p.readInitializer(name)
}

// readInitializer reads the type of a variable or pattern and the "=" before its value,
// and reports whether there is a value. The name, if it is one, is the target.
func (p *jsParser) readInitializer(name token) bool {
	t := p.takeToken()
	if p.types {
		t = p.skipType(t)
	}
	if !t.isPunct('=') || p.peekByte(0) == '=' || p.peekByte(0) == '>' {
		p.unreadToken(t)
		return false
	}
	if p.current = t; name.kind == tokWord {
		p.setTarget(name)
	}
	return true
}

// skipType skips the type of a variable, if t is the ":" before it, and returns the token
// after it.
func (p *jsParser) skipType(t token) token {
	if t.isPunct('!') {
		t = p.takeToken()
	}
	if !t.isPunct(':') {
		return t
	}
	for prev := t; ; prev = t {
		t = p.takeToken()
		switch {
		case t.kind == tokEOF, t.newline && !continuesValue(prev, t):
			return t
		case t.isPunct('=') && p.peekByte(0) == '>':
			t = p.takeToken()
		case t.isPunct('='), t.isPunct(','), t.isPunct(';'), t.isPunct(')'), t.isPunct('}'), t.isPunct(']'):
			return t
		case t.isPunct('('), t.isPunct('{'), t.isPunct('['):
			t = p.jsGroup(t)
		case t.isPunct('<'):
			t = p.typeArguments(t)
		}
	}
}

// maxPattern bounds the nesting of a destructuring pattern that is read.
const maxPattern = 64

// readPattern records the names that the destructuring pattern after open binds. A
// pattern without a value, and one whose value is an imported module, records nothing.
func (p *jsParser) readPattern(open token, kind code.SymbolKind) {
	first, in := len(p.rec.defs), *p.topScope()
	objects := []bool{open.ch == '{'} // whether each open pattern is one of an object
	prev := open
	for len(objects) > 0 {
		t := p.takeToken()
		object := objects[len(objects)-1]
		switch {
		case t.kind == tokEOF:
			p.rec.defs = p.rec.defs[:first]
			return
		case t.isPunct('}'), t.isPunct(']'):
			objects = objects[:len(objects)-1]
		case t.isPunct('='):
			t = p.skipDefault()
		case t.isPunct('('), object && t.isPunct('[') && !prev.isPunct(':'), len(objects) >= maxPattern && (t.isPunct('{') || t.isPunct('[')):
			p.jsGroup(t) // a computed name
		case t.isPunct('{'), t.isPunct('['):
			objects = append(objects, t.ch == '{')
		case t.kind == tokWord && !(object && p.peekColon() && !prev.isPunct(':')):
			p.rec.add(t.toSpan(), kind, in)
		}
		prev = t
	}
	if !p.readInitializer(token{}) || p.importFollows() {
		p.rec.defs = p.rec.defs[:first]
	}
}

// skipDefault skips a default value in a pattern, up to the comma or bracket after it.
func (p *jsParser) skipDefault() token {
	for {
		switch t := p.takeToken(); {
		case t.isPunct('('), t.isPunct('{'), t.isPunct('['):
			p.jsGroup(t)
		case t.kind == tokEOF, t.isPunct(','), t.isPunct('}'), t.isPunct(']'):
			p.unreadToken(t)
			return token{shape: shape{kind: tokString}}
		}
	}
}

// importFollows reports whether the value that comes next is an imported module.
func (p *jsParser) importFollows() bool {
	pos, prev := p.pos, p.prev
	t := p.takeToken()
	if t.word == wAwait {
		t = p.takeToken()
	}
	p.pos, p.prev = pos, prev
	return t.word == wImport || string(p.tokenText(t)) == "require"
}
