package outline

import (
	"bytes"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/schemas/code"
)

var rustLexis = newLexis("", "\"'/#", newWordTable(wConst, wEnum, wExtern, wFn, wFor, wImpl, wMacroRules, wMod, wMut, wPub, wStatic,
	wStruct, wTrait, wType, wUnion, wUnsafe, wUse, wWhere), rustSpecial)

func rustSpecial(s *scanner, c byte) token {
	switch c {
	case '/':
		if s.peek(1) == '*' {
			s.skipNestedComment()
			return token{}
		}
		return s.slashComment()
	case '\'':
		return s.charOrLifetime()
	case '#':
		return s.hash()
	}
	if s.rawMarker() {
		return s.until(s.pos, s.pos+1, `"`)
	}
	return s.quoted(c, true)
}

// charOrLifetime tells 'a' from 'a.
func (s *scanner) charOrLifetime() token {
	start := s.pos
	if s.peek(1) == '\\' {
		return s.quoted('\'', false)
	}
	_, n := utf8.DecodeRune(s.src[min(s.pos+1, len(s.src)):])
	if s.peek(1+n) == '\'' {
		s.pos += n + 2
		return s.literal(start)
	}
	s.pos++
	for s.pos < len(s.src) && s.lex.class[s.src[s.pos]] >= classWord {
		s.pos++
	}
	return s.literal(start)
}

// rawMarker reports whether the byte before s.pos is an r that begins a raw
// string (r, br, cr) and does not end a longer word.
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

// hash reads an attribute #[…], the rest of a raw string r#"…"#, or a "#".
func (s *scanner) hash() token {
	start := s.pos
	if s.rawMarker() {
		for s.peek(0) == '#' {
			s.pos++
		}
		if s.peek(0) == '"' {
			return s.until(start, s.pos+1, `"`+string(s.src[start:s.pos]))
		}
		s.pos = start // r#keyword
		return s.punct(1)
	}
	n := 1
	if s.peek(1) == '!' {
		n = 2
	}
	if s.peek(n) != '[' {
		return s.punct(1)
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
	p.scopes.push(scope{form: formFile, def: -1})
	for {
		t := p.next()
		if t.kind == tokEOF {
			break
		}
		p.item(t)
	}
	for s, ok := p.pop(); ok; s, ok = p.pop() {
		p.rec.close(s.def, len(p.src))
	}
}

func (p *rustParser) item(t token) {
	switch t.word {
	case wFn:
		p.function()
	case wStruct:
		p.typeItem("struct", p.fields)
	case wUnion:
		p.typeItem("union", p.fields)
	case wEnum:
		p.typeItem("enum", p.variants)
	case wTrait:
		p.block("trait")
	case wMod:
		p.block("module")
	case wImpl:
		p.implementation()
	case wConst:
		p.value("constant")
	case wStatic:
		p.value("variable")
	case wType:
		p.alias()
	case wMacroRules:
		p.macroRules()
	case wUse:
		p.toSemicolon()
	case wExtern:
		p.foreign()
	default:
		p.other(t)
	}
}

func (p *rustParser) define(t token, kind code.SymbolKind) int32 {
	return p.rec.add(t.span(), kind, *p.top())
}

// name returns the next token if it is a name; otherwise it stays unread.
func (p *rustParser) name() (token, bool) {
	t := p.next()
	if t.kind == tokWord && t.word == wNone {
		if t.end-t.start == 1 && p.src[t.start] == 'r' && p.peek(0) == '#' {
			p.pos++
			t = p.next()
		}
		return t, true
	}
	p.unread(t)
	return t, false
}

// header reads to the "{" or ";" that ends an item's header and returns it.
func (p *rustParser) header() token {
	for {
		switch t := p.next(); {
		case t.kind == tokEOF, t.is('{'), t.is(';'):
			return t
		case t.is('}'):
			p.unread(t)
			return t
		case t.is('('), t.is('['):
			p.group(t)
		}
	}
}

func (p *rustParser) function() {
	name, ok := p.name()
	if !ok {
		return
	}
	kind := code.SymbolKind("function")
	if p.top().form == formType {
		kind = "method"
	}
	def := p.define(name, kind)
	if p.header().is('{') {
		p.skipGroup('{')
		p.rec.close(def, p.pos)
	}
}

func (p *rustParser) typeItem(kind code.SymbolKind, members func(scope)) {
	name, ok := p.name()
	if !ok {
		return
	}
	def := p.define(name, kind)
	if p.header().is('{') {
		members(scope{name: name.span(), kind: kind})
		p.rec.close(def, p.pos)
	}
}

// fields reads "pub name: Type, …" up to the closing brace.
func (p *rustParser) fields(in scope) {
	for {
		t := p.next()
		switch {
		case t.kind == tokEOF, t.is('}'):
			return
		case t.word == wPub:
		case t.is('('):
			p.group(t) // pub(crate)
		case t.kind == tokWord:
			if p.peek(0) == ':' || p.followedByColon() {
				p.rec.add(t.span(), "field", in)
			}
			if p.toComma() {
				return
			}
		}
	}
}

// followedByColon reports whether blanks and a colon come next.
func (p *rustParser) followedByColon() bool {
	i := p.pos
	for i < len(p.src) && (p.src[i] == ' ' || p.src[i] == '\t') {
		i++
	}
	return i < len(p.src) && p.src[i] == ':'
}

// toComma reads to the comma that ends a field or variant; true at the brace
// that ends all of them.
func (p *rustParser) toComma() bool {
	for {
		switch t := p.next(); {
		case t.kind == tokEOF, t.is('}'):
			return true
		case t.is(','):
			return false
		case t.is('('), t.is('['), t.is('{'):
			p.group(t)
		case t.is('<'):
			if end, ok := p.angleEnd(); ok {
				p.pos = end
			}
		}
	}
}

func (p *rustParser) variants(in scope) {
	for {
		t := p.next()
		switch {
		case t.kind == tokEOF, t.is('}'):
			return
		case t.kind == tokWord:
			p.rec.add(t.span(), "enumerator", in)
			if p.toComma() {
				return
			}
		}
	}
}

// block enters a trait or module.
func (p *rustParser) block(kind code.SymbolKind) {
	name, ok := p.name()
	if !ok {
		return
	}
	f := formNamespace
	if kind == "trait" {
		f = formType
	}
	def := p.define(name, kind)
	if p.header().is('{') {
		p.enter(scope{form: f, name: name.span(), kind: kind, def: def})
	}
}

func (p *rustParser) enter(s scope) {
	if p.full() {
		p.skipGroup('{')
		p.rec.close(s.def, p.pos)
		return
	}
	p.scopes.push(s)
}

// implementation reads "impl<…> Trait for path::Type<…> where … {"; the type is
// the parent of what is inside.
func (p *rustParser) implementation() {
	var name token
	where := false
	for {
		t := p.next()
		switch {
		case t.kind == tokEOF, t.is(';'):
			return
		case t.is('{'):
			s := scope{form: formType, def: -1}
			if name.kind == tokWord {
				s.name, s.kind = name.span(), "implementation"
			}
			p.enter(s)
			return
		case t.is('}'):
			p.unread(t)
			return
		case t.is('('), t.is('['):
			p.group(t)
		case t.is('<'):
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

// value reads "const NAME: Type = …;", "static mut NAME …" or the qualifier of
// a function.
func (p *rustParser) value(kind code.SymbolKind) {
	t := p.next()
	if t.word == wMut {
		t = p.next()
	}
	if !t.isName() || bytes.Equal(p.text(t), []byte("async")) {
		p.unread(t)
		return
	}
	if string(p.text(t)) != "_" {
		p.define(t, kind)
	}
	p.toSemicolon()
}

// foreign enters extern "C" { … }; an extern function follows as an item.
func (p *rustParser) foreign() {
	t := p.next()
	if t.kind == tokString {
		t = p.next()
	}
	if t.is('{') {
		p.enter(p.inherit(formTransparent))
		return
	}
	p.unread(t)
}

func (p *rustParser) alias() {
	if name, ok := p.name(); ok {
		p.define(name, "typedef")
		p.toSemicolon()
	}
}

// toSemicolon reads to the end of a statement.
func (p *rustParser) toSemicolon() {
	for {
		switch t := p.next(); {
		case t.kind == tokEOF, t.is(';'):
			return
		case t.is('}'):
			p.unread(t)
			return
		case t.is('('), t.is('['), t.is('{'):
			p.group(t)
		}
	}
}

func (p *rustParser) macroRules() {
	if t := p.next(); !t.is('!') {
		p.unread(t)
		return
	}
	name, ok := p.name()
	if !ok {
		return
	}
	def := p.define(name, "macro")
	if t := p.next(); t.is('{') || t.is('(') || t.is('[') {
		p.group(t)
		p.rec.close(def, p.pos)
	}
}

// other handles what is no item: the end of a block, stray groups, and calls of
// macros, whose text is only read if the macro selects among items (cfg_if!).
func (p *rustParser) other(t token) {
	switch {
	case t.is('}'):
		if s, ok := p.pop(); ok {
			p.rec.close(s.def, int(t.end))
		}
	case t.is('{') && p.top().form == formTransparent:
		p.enter(p.inherit(formTransparent)) // a branch of cfg_if!
	case t.is('{'):
		p.skipGroup('{')
	case t.is('('), t.is('['):
		p.group(t)
	case t.isName() && p.peek(0) == '!' && bytes.HasPrefix(p.text(t), []byte("cfg_")):
		p.next()
		p.configured()
	}
}

// configured enters the braces of a macro of the cfg family: cfg_x! { items }.
func (p *rustParser) configured() {
	t := p.next()
	if !t.is('{') {
		p.unread(t)
		return
	}
	p.enter(p.inherit(formTransparent))
}
