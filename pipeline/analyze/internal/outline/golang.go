package outline

import "github.com/quarrysearch/quarry/schemas/code"

var goLexis = newLexis("", "\"'`/", newWordTable(wConst, wFunc, wImport, wInterface, wPackage, wStruct, wType, wVar), goSpecial)

func goSpecial(s *scanner, c byte) token {
	switch c {
	case '/':
		return s.slashComment()
	case '`':
		return s.scanUntil(s.pos, s.pos+1, "`")
	}
	return s.scanQuoted(c, false)
}

// goParser reads the declarations of a Go file.
type goParser struct{ scanner }

func runGo(s scanner) {
	p := &goParser{s}
	for {
		t := p.next()
		switch t.word {
		case wPackage:
			if name := p.next(); name.isName() {
				p.rec.add(name.toSpan(), "package", scope{})
			}
		case wImport:
			p.skipSpec()
		case wFunc:
			p.readFunction()
		case wType:
			p.readSpecs(p.typeSpec)
		case wVar:
			p.readSpecs(func(t token) { p.valueSpec(t, "variable") })
		case wConst:
			p.readSpecs(func(t token) { p.valueSpec(t, "constant") })
		}
		switch {
		case t.kind == tokEOF:
			return
		case t.isPunct('{'), t.isPunct('('):
			p.groupToken(t)
		}
	}
}

// unreadToken makes t the next token again.
func (s *scanner) unreadToken(t token) { s.pos, s.newline = int(t.start), t.newline }

// readSpecs reads one specification or a parenthesized list of them.
func (p *goParser) readSpecs(spec func(token)) {
	t := p.next()
	if !t.isPunct('(') {
		spec(t)
		return
	}
	for {
		switch t = p.next(); {
		case t.kind == tokEOF, t.isPunct(')'), t.isPunct('}'):
			return
		case t.isPunct(';'):
		default:
			spec(t)
		}
	}
}

func (p *goParser) readFunction() {
	t := p.next()
	in, kind := scope{}, code.SymbolKind("function")
	if t.isPunct('(') {
		receiver := p.groupToken(t)
		kind = "method"
		if in.name = p.receiverType(receiver); !in.name.isEmpty() {
			in.kind = "type"
		}
		t = p.next()
	}
	if !t.isName() {
		p.unreadToken(t)
		return
	}
	def := p.rec.add(t.toSpan(), kind, in)
	if string(p.tokenText(t)) == "_" {
		def = -1
	}
	p.functionBody(def)
}

// functionBody reads type parameters, parameters, results and body.
func (p *goParser) functionBody(def int32) {
	prev := token{}
	for {
		t := p.next()
		switch {
		case t.kind == tokEOF, t.isPunct(';'):
			return
		case t.newline && prev.kind != tokNone:
			p.unreadToken(t) // a declaration without a body
			return
		case t.isPunct('{') && (prev.word == wStruct || prev.word == wInterface):
			t = p.groupToken(t) // the unnamed struct or interface type of a result
		case t.isPunct('{'):
			p.skipGroup('{')
			p.rec.close(def, p.pos)
			return
		case t.isPunct('('), t.isPunct('['):
			t = p.groupToken(t)
		}
		prev = t
	}
}

// receiverType returns the name of the type in a receiver such as
// (s *Set[K, V]).
func (p *goParser) receiverType(group token) span {
	var name span
	for i := group.start + 1; i < group.end; {
		c := p.src[i]
		switch {
		case c == '[':
			return name
		case p.lex.class[c] >= classWord:
			start := i
			for i < group.end && p.lex.class[p.src[i]] >= classWord {
				i++
			}
			name = span{start, i}
			continue
		}
		i++
	}
	return name
}

// typeSpec reads "Name[parameters] = type", starting at its name.
func (p *goParser) typeSpec(name token) {
	if !name.isName() {
		return // drop it, so that reading always advances
	}
	kind := code.SymbolKind("type")
	t := p.next()
	if t.isPunct('[') {
		generic := t.start == name.end
		t = p.groupToken(t)
		if !generic {
			p.rec.add(name.toSpan(), kind, scope{}) // an array or slice type
			p.skipRest(t)
			return
		}
		t = p.next()
	}
	if t.isPunct('=') {
		kind = "alias"
		t = p.next()
	}
	switch t.word {
	case wStruct:
		p.readBody(name, "struct", p.readField)
	case wInterface:
		p.readBody(name, "interface", p.methodSpec)
	default:
		p.rec.add(name.toSpan(), kind, scope{})
		p.skipRest(t)
	}
}

// readBody reads the braces of a struct or interface type.
func (p *goParser) readBody(name token, kind code.SymbolKind, member func(token, scope)) {
	def := p.rec.add(name.toSpan(), kind, scope{})
	open := p.next()
	if !open.isPunct('{') {
		p.unreadToken(open)
		return
	}
	p.readMembers(scope{name: name.toSpan(), kind: kind}, member)
	p.rec.close(def, p.pos)
	p.skipSpec()
}

func (p *goParser) readMembers(in scope, member func(token, scope)) {
	for {
		switch t := p.next(); {
		case t.kind == tokEOF, t.isPunct('}'):
			return
		case t.isPunct(';'), t.isPunct(','):
		default:
			member(t, in)
		}
	}
}

// readField reads "a, b Type `tag`", starting at t. An embedded field defines no name.
func (p *goParser) readField(t token, in scope) {
	var names [16]token
	n := 0
	for t.isName() && n < len(names) {
		names[n] = t
		n++
		next := p.next()
		if !next.isPunct(',') {
			embedded := n == 1 && (next.newline || next.isPunct('.') || next.isPunct('}') || next.isPunct(';') ||
				next.kind == tokString || next.kind == tokEOF || next.isPunct('[') && next.start == t.end)
			if !embedded {
				p.defineAll(names[:n], "member", in)
			}
			p.fieldType(next, t, in)
			return
		}
		t = p.next()
	}
	p.fieldType(t, token{}, in)
}

func (p *goParser) defineAll(names []token, kind code.SymbolKind, in scope) {
	for _, t := range names {
		if string(p.tokenText(t)) != "_" {
			p.rec.add(t.toSpan(), kind, in)
		}
	}
}

// fieldType reads from t to the end of the field's line. The fields of an unnamed struct
// count as fields of the enclosing type.
func (p *goParser) fieldType(t, prev token, in scope) {
	for {
		switch {
		case t.kind == tokEOF:
			return
		case t.isPunct('}'), t.newline && endsStatement(prev):
			p.unreadToken(t)
			return
		case t.isPunct(';'):
			return
		case t.isPunct('{') && prev.word == wStruct && !in.finished:
			in.finished = true // one level is enough
			p.readMembers(in, p.readField)
			t.kind = tokGroup
		case t.isPunct('{'), t.isPunct('('), t.isPunct('['):
			t = p.groupToken(t)
		}
		prev = t
		t = p.next()
	}
}

// methodSpec reads a line of an interface.
func (p *goParser) methodSpec(t token, in scope) {
	if t.isName() {
		next := p.next()
		if next.isPunct('(') && !next.newline {
			p.rec.add(t.toSpan(), "methodSpec", in)
		}
		p.fieldType(next, t, in)
		return
	}
	p.fieldType(t, token{}, in)
}

// valueSpec reads "a, b Type = …", starting at t.
func (p *goParser) valueSpec(t token, kind code.SymbolKind) {
	var prev token
	for t.isName() {
		p.defineAll([]token{t}, kind, scope{})
		prev = t
		if t = p.next(); !t.isPunct(',') || t.newline {
			break
		}
		t = p.next()
	}
	p.skipFrom(t, prev)
}

// endsStatement reports whether a line break after t ends a statement.
func endsStatement(t token) bool {
	switch t.kind {
	case tokWord, tokNumber, tokString, tokGroup:
		return true
	}
	return false
}

func (p *goParser) skipRest(t token) { p.skipFrom(t, token{}) }

func (p *goParser) skipSpec() { p.skipFrom(p.next(), token{shape: shape{kind: tokGroup}}) }

// skipFrom skips from t to the end of the statement that contains t.
func (p *goParser) skipFrom(t, prev token) {
	for {
		switch {
		case t.kind == tokEOF, t.isPunct(';'):
			return
		case t.newline && endsStatement(prev), t.isPunct(')'), t.isPunct('}'):
			p.unreadToken(t)
			return
		case t.isPunct('{'), t.isPunct('('), t.isPunct('['):
			t = p.groupToken(t)
		}
		prev = t
		t = p.next()
	}
}
