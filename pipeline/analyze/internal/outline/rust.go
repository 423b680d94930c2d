package outline

import (
	"bytes"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/schemas/code"
)

var rustLexis = newLexis("", "\"'/#", newWordTable(wConst, wEnum, wExtern, wFn, wFor, wImpl, wMacroRules, wMod, wMut, wPub, wStatic,
	wStruct, wTrait, wType, wUnion, wUnsafe, wUse, wWhere), rustSpecial).withNested(rustNested, 1)

func rustSpecial(s *scanner, c byte) token {
	switch c {
	case '/':
		if s.peekByte(1) == '*' {
			s.skipNestedComment()
			return token{}
		}
		return s.slashComment()
	case '\'':
		return s.charOrLifetime()
	case '#':
		return s.scanHash()
	}
	if s.rawMarker() {
		return s.scanUntil(s.pos, s.pos+1, `"`)
	}
	return s.scanQuoted(c, true)
}

// charOrLifetime distinguishes 'a' from 'a.
func (s *scanner) charOrLifetime() token {
	start := s.pos
	if s.peekByte(1) == '\\' {
		return s.scanQuoted('\'', false)
	}
	_, n := utf8.DecodeRune(s.src[min(s.pos+1, len(s.src)):])
	if s.peekByte(1+n) == '\'' {
		s.pos += n + 2
		return s.literalToken(start)
	}
	s.pos++
	for s.pos < len(s.src) && s.lex.class[s.src[s.pos]] >= classWord {
		s.pos++
	}
	return s.literalToken(start)
}

// rawMarker reports whether the byte before s.pos is an r that begins a raw string (r,
// br, cr) and does not end a longer word.
func (s *scanner) rawMarker() bool {
	i := s.pos - 1
	if i < 0 || s.src[i] != 'r' {
		return false
	}
	if i > 0 && (s.src[i-1] == 'b' || s.src[i-1] == 'c') {
		i--
	}
	return i == 0 || s.lex.class[s.src[i-1]] < classWord
}

// scanHash reads an attribute #[…], the rest of a raw string r#"…"#, or "#".
func (s *scanner) scanHash() token {
	start := s.pos
	if s.rawMarker() {
		for s.peekByte(0) == '#' {
			s.pos++
		}
		if s.peekByte(0) == '"' {
			return s.scanUntil(start, s.pos+1, `"`+string(s.src[start:s.pos]))
		}
		s.pos = start // r#keyword
		return s.punctToken(1)
	}
	n := 1
	if s.peekByte(1) == '!' {
		n = 2
	}
	if s.peekByte(n) != '[' {
		return s.punctToken(1)
	}
	s.pos += n + 1
	s.skipGroup('[')
	return token{}
}

// rustParser reads the items of a Rust file.
type rustParser struct {
	scanner
	scopes
}

func runRust(s scanner) {
	p := &rustParser{scanner: s}
	p.scopes.pushScope(scope{form: formFile, def: -1})
	for {
		t := p.next()
		if t.kind == tokEOF {
			break
		}
		p.readItem(t)
	}
	for s, ok := p.popScope(); ok; s, ok = p.popScope() {
		p.rec.close(s.def, len(p.src))
	}
}

func (p *rustParser) readItem(t token) {
	switch t.word {
	case wFn:
		p.readFunction()
	case wStruct:
		p.typeItem("struct", p.readFields)
	case wUnion:
		p.typeItem("union", p.readFields)
	case wEnum:
		p.typeItem("enum", p.readVariants)
	case wTrait:
		p.enterBlock("trait")
	case wMod:
		p.enterBlock("module")
	case wImpl:
		p.enterImplementation()
	case wConst:
		p.readValue("constant")
	case wStatic:
		p.readValue("variable")
	case wType:
		p.readAlias()
	case wMacroRules:
		p.macroRules()
	case wUse:
		p.toSemicolon()
	case wExtern:
		p.enterForeign()
	default:
		p.readOther(t)
	}
}

func (p *rustParser) defineName(t token, kind code.SymbolKind) int32 {
	return p.rec.add(t.toSpan(), kind, *p.topScope())
}

// nextName returns the next token if it is a name, and otherwise leaves it unread.
func (p *rustParser) nextName() (token, bool) {
	t := p.next()
	if t.kind == tokWord && t.word == wNone {
		return p.rawName(t), true
	}
	p.unreadToken(t)
	return t, false
}

// rawName returns the name after the mark r# if t begins one, and otherwise t.
func (p *rustParser) rawName(t token) token {
	if t.end-t.start == 1 && p.src[t.start] == 'r' && p.peekByte(0) == '#' {
		p.pos++
		return p.next()
	}
	return t
}

// skipHeader skips to the "{" or ";" that ends an item's header, and returns it.
func (p *rustParser) skipHeader() token {
	for {
		switch t := p.next(); {
		case t.kind == tokEOF, t.isPunct('{'), t.isPunct(';'):
			return t
		case t.isPunct('}'):
			p.unreadToken(t)
			return t
		case t.isPunct('('), t.isPunct('['):
			p.groupToken(t)
		}
	}
}

func (p *rustParser) readFunction() {
	name, ok := p.nextName()
	if !ok {
		return
	}
	kind := code.SymbolKind("function")
	if p.topScope().form == formType {
		kind = "method"
	}
	def := p.defineName(name, kind)
	if !p.skipHeader().isPunct('{') {
		return
	}
	first := len(p.nested)
	p.skipNoting()
	p.rec.close(def, p.pos)
	if len(p.nested) > first && !p.isFull() {
		in := scope{form: formNamespace, name: name.toSpan(), kind: kind, def: -1}
		p.scanner.readNested(first, func(n nestedBrace) { p.scopes.readNested(&p.scanner, in, n, p.readItem) })
	}
}

func (p *rustParser) typeItem(kind code.SymbolKind, members func(scope)) {
	name, ok := p.nextName()
	if !ok {
		return
	}
	def := p.defineName(name, kind)
	if p.skipHeader().isPunct('{') {
		members(scope{name: name.toSpan(), kind: kind})
		p.rec.close(def, p.pos)
	}
}

// readFields reads "pub name: Type, …" up to the closing brace.
func (p *rustParser) readFields(in scope) {
	for {
		t := p.next()
		switch {
		case t.kind == tokEOF, t.isPunct('}'):
			return
		case t.word == wPub:
		case t.isPunct('('):
			p.groupToken(t) // pub(crate)
		case t.kind == tokWord:
			t = p.rawName(t)
			if p.peekByte(0) == ':' || p.followedByColon() {
				p.rec.add(t.toSpan(), "field", in)
			}
			if p.toComma() {
				return
			}
		}
	}
}

// followedByColon reports whether a colon follows, after optional blanks.
func (p *rustParser) followedByColon() bool {
	i := p.pos
	for i < len(p.src) && (p.src[i] == ' ' || p.src[i] == '\t') {
		i++
	}
	return i < len(p.src) && p.src[i] == ':'
}

// toComma skips to the comma that ends a field or variant. It returns true at the brace
// that ends all of them.
func (p *rustParser) toComma() bool {
	for {
		switch t := p.next(); {
		case t.kind == tokEOF, t.isPunct('}'):
			return true
		case t.isPunct(','):
			return false
		case t.isPunct('('), t.isPunct('['), t.isPunct('{'):
			p.groupToken(t)
		case t.isPunct('<'):
			if end, ok := p.angleEnd(); ok {
				p.pos = end
			}
		}
	}
}

func (p *rustParser) readVariants(in scope) {
	for {
		t := p.next()
		switch {
		case t.kind == tokEOF, t.isPunct('}'):
			return
		case t.kind == tokWord:
			p.rec.add(p.rawName(t).toSpan(), "enumerator", in)
			if p.toComma() {
				return
			}
		}
	}
}

// enterBlock enters a trait or module.
func (p *rustParser) enterBlock(kind code.SymbolKind) {
	name, ok := p.nextName()
	if !ok {
		return
	}
	f := formNamespace
	if kind == "trait" {
		f = formType
	}
	def := p.defineName(name, kind)
	if p.skipHeader().isPunct('{') {
		p.enterScope(scope{form: f, name: name.toSpan(), kind: kind, def: def})
	}
}

func (p *rustParser) enterScope(s scope) {
	if p.isFull() {
		p.rec.limited = true
		p.skipGroup('{')
		p.rec.close(s.def, p.pos)
		return
	}
	p.scopes.pushScope(s)
}

// enterImplementation reads "impl<…> Trait for path::Type<…> where … {". The type is the
// parent of the definitions inside.
func (p *rustParser) enterImplementation() {
	var name token
	where := false
	for {
		t := p.next()
		switch {
		case t.kind == tokEOF, t.isPunct(';'):
			return
		case t.isPunct('{'):
			s := scope{form: formType, def: -1}
			if name.kind == tokWord {
				s.name, s.kind = name.toSpan(), "implementation"
			}
			p.enterScope(s)
			return
		case t.isPunct('}'):
			p.unreadToken(t)
			return
		case t.isPunct('('), t.isPunct('['):
			p.groupToken(t)
		case t.isPunct('<'):
			if end, ok := p.angleEnd(); ok {
				p.pos = end
			}
		case t.word == wFor:
			name = token{}
		case t.word == wWhere:
			where = true
		case t.isName() && !where:
			name = t
		}
	}
}

// readValue reads "const NAME: Type = …;" or "static mut NAME …", or the qualifier of a
// function.
func (p *rustParser) readValue(kind code.SymbolKind) {
	t := p.next()
	if t.word == wMut || string(p.tokenText(t)) == "ref" { // static ref X, in lazy_static!
		t = p.next()
	}
	if !t.isName() || bytes.Equal(p.tokenText(t), []byte("async")) {
		p.unreadToken(t)
		return
	}
	if string(p.tokenText(t)) != "_" {
		p.defineName(t, kind)
	}
	p.toSemicolon()
}

// enterForeign enters extern "C" { … }. An extern function is read as an item.
func (p *rustParser) enterForeign() {
	t := p.next()
	if t.kind == tokString {
		t = p.next()
	}
	if t.isPunct('{') {
		p.enterScope(p.inheritScope(formTransparent))
		return
	}
	p.unreadToken(t)
}

func (p *rustParser) readAlias() {
	if name, ok := p.nextName(); ok {
		p.defineName(name, "typedef")
		p.toSemicolon()
	}
}

// toSemicolon skips to the end of a statement.
func (p *rustParser) toSemicolon() {
	for {
		switch t := p.next(); {
		case t.kind == tokEOF, t.isPunct(';'):
			return
		case t.isPunct('}'):
			p.unreadToken(t)
			return
		case t.isPunct('('), t.isPunct('['), t.isPunct('{'):
			p.groupToken(t)
		}
	}
}

func (p *rustParser) macroRules() {
	if t := p.next(); !t.isPunct('!') {
		p.unreadToken(t)
		return
	}
	p.readMacro()
}

// readMacro reads "name { … }", or "name(…) { … }" of "macro name".
func (p *rustParser) readMacro() {
	name, ok := p.nextName()
	if !ok {
		return
	}
	def := p.defineName(name, "macro")
	t := p.next()
	for ; t.isPunct('{') || t.isPunct('(') || t.isPunct('['); t = p.next() {
		p.groupToken(t)
		p.rec.close(def, p.pos)
	}
	p.unreadToken(t)
}

// readOther handles tokens that begin no item: the end of a block, stray groups, and
// macro calls. It reads the text of a macro call only if the text is items.
func (p *rustParser) readOther(t token) {
	switch {
	case t.isPunct('}'):
		if s, ok := p.popScope(); ok {
			p.rec.close(s.def, int(t.end))
		}
	case t.isPunct('{') && p.topScope().form == formTransparent:
		p.enterScope(p.inheritScope(formTransparent)) // a branch of cfg_if!
	case t.isPunct('{'):
		p.skipGroup('{')
	case t.isPunct('('), t.isPunct('['):
		p.groupToken(t)
	case t.isName() && p.peekByte(0) == '!' && p.containsItems(t):
		p.next()
		p.enterConfigured()
	case t.isName() && string(p.tokenText(t)) == "macro":
		p.readMacro()
	}
}

// containsItems reports whether the text of the macro is items: cfg_if!, thread_local!.
func (p *rustParser) containsItems(macro token) bool {
	text := p.tokenText(macro)
	switch string(text) {
	case "thread_local", "lazy_static", "bitflags":
		return true
	}
	return bytes.HasPrefix(text, []byte("cfg_"))
}

// enterConfigured enters the braces of a cfg-like macro: cfg_x! { items }.
func (p *rustParser) enterConfigured() {
	t := p.next()
	if !t.isPunct('{') {
		p.unreadToken(t)
		return
	}
	p.enterScope(p.inheritScope(formTransparent))
}
