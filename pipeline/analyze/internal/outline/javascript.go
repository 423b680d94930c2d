package outline

import "github.com/quarrysearch/quarry/schemas/code"

// jsParser reads JavaScript and, with types, TypeScript. It reads every token, because
// functions may be defined inside functions and literals.
type jsParser struct {
	scanner
	scopes
	types bool

	// target is the name that the next function or class expression would get: "target =
	// function", "target: class". It remains a candidate until used.
	target      token
	targetIn    scope
	lastParen   jsParen // the last closed parenthesized group
	variableDef int32   // the last recorded variable, -1 before the first
	before      token   // the previous token
	current     token   // the current token, or the last one that its handler read

	// declaring is the kind of the variables that a declaration at the top level, at depth
	// declaringDepth of the scopes, records; empty if there is none. angled means that
	// there was a "<" in it, which may begin type arguments or JSX.
	declaring      code.SymbolKind
	declaringDepth int
	angled         bool
}

// jsParen keeps the context before a parenthesis until the group is known to be the
// parameters of an arrow function or method, or a condition.
type jsParen struct {
	name   token // the target or member name
	in     scope
	member bool // a member's parameters
	valid  bool
}

func runJavaScript(types bool) func(scanner) {
	return func(s scanner) {
		p := &jsParser{scanner: s, types: types, variableDef: -1}
		p.scopes.pushScope(scope{form: formFile, def: -1})
		for {
			t := p.next()
			if t.kind == tokEOF {
				break
			}
			p.current = t
			p.handleToken(t)
			p.before = p.current
		}
		for p.close(len(p.src)) {
		}
	}
}

// takeToken returns the next token, which includes the whole of a template literal.
func (p *jsParser) takeToken() token {
	t := p.next()
	for p.templateHole {
		p.templateHole = false
		p.jsGroup(token{})
		p.scanTemplate()
		p.prev = token{shape: shape{kind: tokString}}
	}
	return t
}

func (p *jsParser) close(end int) bool {
	s, ok := p.popScope()
	if ok {
		p.rec.close(s.def, end)
	}
	return ok
}

func (p *jsParser) handleToken(t token) {
	if p.templateHole {
		p.templateHole = false
		p.openScope(formTemplate)
		return
	}
	top := p.topScope().form
	switch {
	case top == formType && (t.kind != tokPunct || t.isPunct('[') || t.isPunct('(') || t.isPunct('<')):
		p.readMember(t)
	case t.kind == tokPunct:
		p.handlePunctuation(t)
	case top == formEnum:
		if t.kind == tokWord && (p.before.isPunct('{') || p.before.isPunct(',')) {
			p.rec.add(t.toSpan(), "enumerator", *p.topScope())
		}
	case t.kind == tokWord:
		p.handleWord(t)
	}
}

// openScope enters a scope that defines nothing. It skips scopes that nest too deep.
func (p *jsParser) openScope(f form) {
	p.enterScope(p.inheritScope(f))
}

func (p *jsParser) enterScope(s scope) {
	if p.isFull() {
		p.rec.limited = true
		p.jsGroup(token{})
		p.rec.close(s.def, p.pos)
		return
	}
	p.scopes.pushScope(s)
	p.target = token{}
}

func (p *jsParser) handlePunctuation(t token) {
	switch t.ch {
	case '{':
		p.openBrace(t)
	case '}':
		p.closeBrace(t)
	case '(':
		p.openParen(t)
	case '[':
		p.pushBracket(scope{form: formBracket})
	case ')', ']':
		p.closeBracket(t)
	case '=':
		p.handleEquals(t)
	case ';', ',':
		p.target, p.lastParen.valid = token{}, false
		if p.declaring != "" && len(p.stack) == p.declaringDepth {
			if t.ch == ';' {
				p.declaring = ""
			} else {
				p.readDeclarator()
			}
		}
	case '<':
		if p.types && (p.before.isPunct('=') || p.before.word == wAsync) {
			p.typeArguments(t) // a generic arrow function
			return
		}
		p.angled = true
	case '@':
		if p.topScope().form == formType {
			p.skipDecorator()
		}
	}
}

// pushBracket opens a bracket in which definitions keep their parent.
func (p *jsParser) pushBracket(s scope) {
	if p.isFull() {
		p.rec.limited = true
		p.jsGroup(token{})
		return
	}
	in := p.inheritScope(s.form)
	in.pending = s.pending
	p.scopes.pushScope(in)
}

// skipDecorator reads "@name.of(…)" before a member.
func (p *jsParser) skipDecorator() {
	p.takeToken()
	for {
		switch t := p.takeToken(); {
		case t.isPunct('.'):
			p.takeToken()
		case t.isPunct('('):
			p.jsGroup(t)
		default:
			p.unreadToken(t)
			return
		}
	}
}

// openParen opens a parenthesis and records the name of a function that may follow.
func (p *jsParser) openParen(t token) {
	if p.isFull() {
		p.rec.limited = true
		p.jsGroup(t)
		return
	}
	in := p.inheritScope(formParen)
	in.pending = p.target
	if p.target.kind == tokNone && p.topScope().form == formObject && p.before.kind == tokWord && memberWord(p.before.word) {
		in.pending, in.finished = p.before, true // a method in a literal: name(…) {
	}
	p.scopes.pushScope(in)
	p.target = token{}
}

// memberWord reports whether a word before "(" in a literal can be a method name.
func memberWord(w word) bool {
	return w == wNone || w == wGet || w == wSet || w == wStatic || w == wDelete
}

func (p *jsParser) closeBracket(t token) {
	want := formParen
	if t.ch == ']' {
		want = formBracket
	}
	if p.topScope().form != want {
		return
	}
	s, _ := p.popScope()
	p.lastParen = jsParen{name: s.pending, in: *p.topScope(), member: s.finished, valid: t.ch == ')'}
}

// handleEquals handles "=". An assignment makes the preceding name a target; "=>" makes
// the preceding tokens a function.
func (p *jsParser) handleEquals(t token) {
	switch {
	case p.peekByte(0) == '>':
		p.takeToken()
		p.defineArrow()
	case p.peekByte(0) == '=':
		p.takeToken()
	case p.before.kind == tokWord && p.before.word == wNone:
		p.setTarget(p.before)
	}
}

// setTarget makes name the target. "Type.prototype.name" and "object.name" give it a
// parent.
func (p *jsParser) setTarget(name token) {
	if string(p.tokenText(name)) == "exports" {
		return
	}
	if string(p.tokenText(name)) == "prototype" {
		if owner, ok := p.wordBefore(name.start); ok { // Type.prototype = { … }
			name.start, name.end = owner.start, owner.end
		}
	}
	p.target, p.targetIn = name, *p.topScope()
	if owner, ok := p.findOwner(name); ok {
		p.targetIn.name, p.targetIn.kind = owner, "class"
	}
}

// findOwner returns the object before ".name", or the type before ".prototype.name".
func (p *jsParser) findOwner(name token) (span, bool) {
	object, ok := p.wordBefore(name.start)
	if !ok {
		return span{}, false
	}
	if string(p.src[object.start:object.end]) == "prototype" {
		return p.wordBefore(object.start)
	}
	switch string(p.src[object.start:object.end]) {
	case "exports", "module", "this", "self", "window", "global":
		return span{}, false
	}
	return object, true
}

// wordBefore returns the word of "word." that ends at offset end.
func (p *jsParser) wordBefore(end int32) (span, bool) {
	i := end - 1
	if i < 1 || p.src[i] != '.' {
		return span{}, false
	}
	start := i
	for start > 0 && i-start <= code.MaxSymbolBytes && p.lex.class[p.src[start-1]] >= classWord {
		start--
	}
	return span{start, i}, start < i
}

// defineArrow records the function that "=>" defines.
func (p *jsParser) defineArrow() {
	name, in := p.target, p.targetIn
	if p.lastParen.valid && !p.lastParen.member {
		name = p.lastParen.name
		if name.kind == tokWord && p.targetIn.form == p.lastParen.in.form {
			in = p.targetIn
		}
	}
	p.target, p.lastParen.valid = token{}, false
	def := int32(-1)
	if name.kind == tokWord {
		def = p.defineValue(name, functionKind(in), in)
	}
	next := p.takeToken()
	if !next.isPunct('{') {
		p.unreadToken(next)
		return
	}
	s := p.inheritScope(formFunction)
	if s.def = def; def >= 0 {
		s.name, s.kind = name.toSpan(), "function"
	}
	p.enterScope(s)
	p.current, p.prev = next, next
}

// defineValue records a function or class. If it is the value of the last recorded
// variable, it changes the kind of the variable instead.
func (p *jsParser) defineValue(name token, kind code.SymbolKind, in scope) int32 {
	if v := p.variableDef; v >= 0 && p.rec.defs[v].name == name.toSpan() {
		p.rec.defs[v].kind = kind
		return v
	}
	return p.rec.add(name.toSpan(), kind, in)
}

// functionKind distinguishes functions from methods.
func functionKind(in scope) code.SymbolKind {
	if in.kind == "class" {
		return "method"
	}
	return "function"
}

// openBrace determines what a "{" begins.
func (p *jsParser) openBrace(t token) {
	top := *p.topScope()
	switch {
	case top.form == formType:
		p.jsGroup(token{}) // a static block
	case p.before.isPunct(')') && p.lastParen.valid && p.lastParen.member:
		p.enterMethod(p.lastParen.name)
	case p.objectBrace(top):
		s := p.inheritScope(formObject)
		if p.target.kind == tokWord {
			s.name, s.kind = p.target.toSpan(), "class"
		}
		p.enterScope(s)
	default:
		p.openScope(formBlock)
	}
	p.lastParen.valid = false
}

// objectBrace reports whether a "{" after the current token begins an object
// literal rather than a block.
func (p *jsParser) objectBrace(top scope) bool {
	switch b := p.before; b.kind {
	case tokPunct:
		switch b.ch {
		case '=', '(', ',', '[', '?', '&', '|', '+':
			return true
		case ':':
			return top.form == formObject || top.form == formParen || top.form == formBracket
		}
	case tokWord:
		return b.word == wReturn || b.word == wDefault
	}
	return false
}

// enterMethod enters a method whose body's "{" has been read.
func (p *jsParser) enterMethod(name token) {
	in := *p.topScope()
	kind := code.SymbolKind("method")
	if in.name.isEmpty() {
		kind = "function"
	}
	def := p.rec.add(name.toSpan(), kind, in)
	p.enterScope(scope{form: formFunction, name: name.toSpan(), kind: "function", def: def})
}

func (p *jsParser) closeBrace(t token) {
	// Unclosed brackets end with the enclosing braces.
	for f := p.topScope().form; f == formParen || f == formBracket; f = p.topScope().form {
		p.popScope()
	}
	s, ok := p.popScope()
	if !ok {
		return
	}
	p.rec.close(s.def, int(t.end))
	if s.form == formTemplate {
		p.scanTemplate()
		p.prev = token{shape: shape{kind: tokString}}
		if p.templateHole {
			p.templateHole = false
			p.openScope(formTemplate)
		}
	}
	p.lastParen.valid = false
}

// handleWord reads a word that is not a class member.
func (p *jsParser) handleWord(t token) {
	if p.before.isPunct('.') {
		return
	}
	if t.newline && p.declaring != "" && len(p.stack) == p.declaringDepth && mayEndStatement(p.before) {
		p.declaring = "" // a line break instead of a semicolon
	}
	top := p.topScope().form
	switch t.word {
	case wFunction:
		p.readFunction()
	case wClass:
		p.readClass()
	case wConst:
		p.readVariable("constant")
	case wLet, wVar:
		p.readVariable("variable")
	case wInterface:
		p.typeBlock(t, "interface", formType)
	case wEnum:
		p.typeBlock(t, "enum", formEnum)
	case wNamespace, wModule:
		p.typeBlock(t, "namespace", formNamespace)
	case wType:
		p.readAlias(t)
	case wNone:
		if top == formObject && p.peekColon() {
			p.setTarget(t)
		}
	}
}

// mayEndStatement reports whether a statement may end after t.
func mayEndStatement(t token) bool {
	switch t.kind {
	case tokWord:
		return t.word == wNone || t.word == wConst
	case tokPunct:
		return t.ch == ')' || t.ch == ']' || t.ch == '}'
	}
	return true
}

// peekColon reports whether a colon comes next.
func (s *scanner) peekColon() bool {
	i := s.pos
	for i < len(s.src) && s.src[i] == ' ' {
		i++
	}
	return i < len(s.src) && s.src[i] == ':'
}
