package outline

import (
	"bytes"

	"github.com/quarrysearch/quarry/schemas/code"
)

var (
	cLexis   = newLexis("$", `"'/#`, cWords, cSpecial).withNested(cNested, maxScopes)
	cppLexis = newLexis("$", `"'/#`, cppWords, cppSpecial).withNested(cNested, maxScopes)

	cWords = newWordTable(wAlignas, wAsm, wAttribute, wBool, wBreak, wCase, wChar, wConst, wDeclspec, wDefault, wDo,
		wDouble, wElse, wEnum, wExtension, wExtern, wFloat, wFor, wIf, wInline, wInt, wLong, wReturn, wShort, wSigned,
		wSizeof, wStatic, wStaticAssert, wStruct, wSwitch, wTypedef, wTypeof, wUnion, wUnsigned, wVoid, wVolatile, wWhile)
	cppWords = newWordTable(wAlignas, wAsm, wAttribute, wBool, wBreak, wCase, wCatch, wChar, wClass, wConst, wConstexpr,
		wDeclspec, wDecltype, wDefault, wDelete, wDo, wDouble, wElse, wEnum, wExplicit, wExtension, wExtern,
		wFloat, wFor, wFriend, wIf, wInline, wInt, wLong, wNamespace, wNew, wNoexcept, wOperator,
		wPrivate, wProtected, wPublic, wRequires, wReturn, wShort, wSigned, wSizeof, wStatic, wStaticAssert, wStruct,
		wSwitch, wTemplate, wThis, wThrow, wTry, wTypedef, wTypename, wTypeof, wUnion, wUnsigned, wUsing,
		wVirtual, wVoid, wVolatile, wWhile)
)

func cSpecial(s *scanner, c byte) token {
	switch c {
	case '/':
		return s.slashComment()
	case '#':
		return s.scanDirective()
	}
	return s.scanQuoted(c, false)
}

func cppSpecial(s *scanner, c byte) token {
	switch c {
	case '/':
		return s.slashComment()
	case '#':
		return s.scanDirective()
	case '\'':
		if s.digitSeparator() {
			return s.punctToken(1)
		}
	case '"':
		if s.pos > 0 && s.src[s.pos-1] == 'R' && s.rawPrefix() {
			return s.rawString()
		}
	}
	return s.scanQuoted(c, false)
}

// digitSeparator reports whether the apostrophe at s.pos is inside a number (1'000'000),
// which may happen while a body is skipped.
func (s *scanner) digitSeparator() bool {
	if s.pos == 0 || s.lex.class[s.peekByte(1)] < classWord {
		return false
	}
	before := s.src[s.pos-1]
	hex := before >= 'a' && before <= 'f' || before >= 'A' && before <= 'F'
	if before < '0' || before > '9' && !hex {
		return false
	}
	return s.peekByte(2) != '\'' || before != '8' // u8'x'
}

// rawPrefix reports whether the R before the quote at s.pos begins a raw string, rather
// than ends another identifier.
func (s *scanner) rawPrefix() bool {
	start := s.pos - 1
	for start > 0 && s.pos-start < 4 && s.lex.class[s.src[start-1]] >= classWord {
		start--
	}
	switch string(s.src[start : s.pos-1]) {
	case "", "L", "u", "U", "u8":
		return true
	}
	return false
}

// rawString reads R"delimiter( … )delimiter" from its quote on.
func (s *scanner) rawString() token {
	const maxDelimiter = 16 // by the standard
	head := s.src[s.pos+1 : min(len(s.src), s.pos+2+maxDelimiter)]
	open := bytes.IndexByte(head, '(')
	if open < 0 {
		return s.scanQuoted('"', false)
	}
	return s.scanUntil(s.pos, s.pos+2+open, ")"+string(head[:open])+`"`)
}

// cDialect parses declarations of C and, with cpp, of C++.
type cDialect struct{ cpp bool }

var _ dialect = cDialect{}

func (d cDialect) handleToken(p *declParser, t token) bool {
	switch {
	case t.kind == tokGroup && t.ch == '(' && len(p.decl) > 0:
		// Drop the arguments of an attribute together with it.
		switch last := p.decl[len(p.decl)-1]; last.word {
		case wAttribute, wDeclspec, wAlignas, wAsm, wNoexcept, wDecltype, wTypeof, wThrow, wExplicit:
			if last.word == wDecltype || last.word == wTypeof {
				return true // stays as a type keyword
			}
			p.decl = p.decl[:len(p.decl)-1]
			return true
		}
	case t.kind == tokGroup && t.ch == '[' && d.cpp && t.end > t.start+1 && p.src[t.start+1] == '[':
		return true // [[attribute]]
	case t.word == wExtension:
		return true
	case t.isPunct('<') && d.cpp && len(p.decl) > 0:
		last := p.decl[len(p.decl)-1]
		if last.isName() || last.word == wTemplate {
			if t, ok := p.readAngle(t); ok {
				p.pushToken(t)
				return true
			}
		}
	case t.isPunct(':') && d.cpp && len(p.decl) == 1:
		switch p.decl[0].word {
		case wPublic, wPrivate, wProtected:
			p.reset()
			return true
		}
		if p.decl[0].isName() && p.topScope().form == formType && p.peekByte(0) != ':' {
			p.reset() // labels such as signals:
			return true
		}
	}
	return false
}

func (d cDialect) handleBody(p *declParser, open token) {
	decl := p.stripDecl()
	if d.cpp && len(decl) > 0 && p.isExport(decl[0]) {
		decl = decl[1:]
		if len(decl) == 0 {
			p.enterScope(p.inheritScope(formTransparent))
			return
		}
	}
	switch {
	case len(decl) == 0:
		p.skipBody(-1)
	case d.cpp && decl[0].word == wNamespace, d.cpp && len(decl) > 1 && decl[0].word == wInline && decl[1].word == wNamespace:
		d.enterNamespace(p, decl)
	case decl[0].word == wExtern && len(decl) == 2 && decl[1].kind == tokString:
		p.enterScope(p.inheritScope(formTransparent))
	default:
		d.handleDefinition(p, decl, open)
	}
}

// isExport reports whether t is the word before an exported declaration of a module.
func (p *declParser) isExport(t token) bool {
	return t.end-t.start == 6 && t.kind == tokWord && string(p.tokenText(t)) == "export"
}

func (d cDialect) handleDefinition(p *declParser, decl []token, open token) {
	fn, ok := d.findFunction(p, decl)
	aggregate := indexWord(decl, wStruct, wUnion, wEnum, wClass)
	wrapped, isWrapped := d.wrappedFunction(p, decl, ok)
	switch {
	case isWrapped && indexAssignment(decl) < 0:
		p.skipBody(p.defineName(wrapped, "function"))
	case indexAssignment(decl) >= 0:
		p.skipInitializer(open)
	case ok && d.inMemberInitializers(decl, fn):
		p.skipInitializer(open)
	case ok && (aggregate < 0 || fn.index > aggregate && !d.typeHead(p, decl, aggregate)):
		p.skipBody(d.defineFunction(p, fn))
	case aggregate >= 0:
		d.enterAggregate(p, decl, aggregate)
	case d.cpp && len(decl) > 1 && decl[len(decl)-1].isName():
		p.skipInitializer(open) // int x{5};
	default:
		p.skipBody(-1)
	}
}

// typeHead reports whether the class keyword at index i begins a class head that only
// looks like a function because of a macro: class API(x) Foo {.
func (d cDialect) typeHead(p *declParser, decl []token, i int) bool {
	if !d.cpp {
		return false
	}
	last := decl[len(decl)-1]
	if g := indexGroup(decl[i:], '('); g > 0 && last.isName() && upperCase(p.tokenText(decl[i+g-1])) &&
		indexPunct(decl[i:], '*') < 0 && indexPunct(decl[i:], '&') < 0 {
		return true
	}
	colon := indexPunct(decl[i:], ':')
	return colon > 0 && i+colon+1 < len(decl) && !decl[i+colon+1].isPunct(':') && !decl[i+colon-1].isPunct(':') &&
		indexGroup(decl[i:i+colon], '(') < 0
}

func indexGroup(decl []token, ch byte) int {
	for i, t := range decl {
		if t.isGroup(ch) {
			return i
		}
	}
	return -1
}

// indexAssignment returns the index of the "=" that begins a value, or -1. It ignores the
// "=" of operator== and of default template arguments.
func indexAssignment(decl []token) int {
	for i, t := range decl {
		if t.word == wOperator {
			return -1
		}
		if t.isPunct('=') {
			return i
		}
	}
	return -1
}

// stripDecl returns the declaration without leading template<…> parts and without macro
// calls that have no semicolon and are on their own line.
func (p *declParser) stripDecl() []token {
	decl := p.decl
	for len(decl) > 1 && decl[0].word == wTemplate && decl[1].isGroup('<') {
		decl = decl[2:]
	}
	for len(decl) > 2 && decl[0].isName() && decl[1].newline && decl[1].kind == tokWord && upperCase(p.tokenText(decl[0])) {
		decl = decl[1:]
	}
	for len(decl) > 3 && decl[0].isName() && decl[1].isGroup('(') && decl[2].kind == tokWord && decl[2].newline &&
		upperCase(p.tokenText(decl[0])) {
		decl = decl[2:]
	}
	return decl
}

func (d cDialect) enterNamespace(p *declParser, decl []token) {
	s := p.inheritScope(formNamespace)
	for i := 1; i < len(decl); i++ {
		if decl[i].isName() {
			s.def = p.defineName(decl[i], "namespace")
			s.name, s.kind = decl[i].toSpan(), "namespace"
		}
	}
	p.enterScope(s)
}

// enterAggregate enters the body of the struct, union, class or enum whose keyword is at
// index i.
func (d cDialect) enterAggregate(p *declParser, decl []token, i int) {
	kind, f := code.SymbolKind("struct"), formType
	switch decl[i].word {
	case wUnion:
		kind = "union"
	case wClass:
		kind = "class"
	case wEnum:
		kind, f = "enum", formEnum
	}
	s := p.inheritScope(f)
	s.typedef = decl[0].word == wTypedef
	if name, ok := d.tagName(p, decl[i+1:]); ok {
		s.def = p.defineName(name, kind)
		s.name, s.kind = name.toSpan(), kind
	} else if s.unnamed = true; p.topScope().form != formType || f == formEnum {
		s.name, s.kind = span{}, kind
	}
	p.enterScope(s)
}

// tagName returns the name of a type, given the tokens between its keyword and its body:
// the last name before a base clause that is not an attribute macro.
func (d cDialect) tagName(p *declParser, head []token) (token, bool) {
	var name token
	for i, t := range head {
		if t.isPunct(':') {
			if isDoubleColon(head, i) {
				continue // a qualified name
			}
			break
		}
		if !t.isName() || name.kind == tokWord && p.attributeName(t) {
			continue
		}
		name = t
	}
	return name, name.kind == tokWord
}

// isDoubleColon reports whether the ":" at index i is part of a "::".
func isDoubleColon(decl []token, i int) bool {
	return i+1 < len(decl) && decl[i+1].isPunct(':') && decl[i+1].start == decl[i].end ||
		i > 0 && decl[i-1].isPunct(':') && decl[i-1].end == decl[i].start
}

// attributeName reports whether t is spelled like an attribute macro or is one of the
// words that may follow a class name.
func (p *declParser) attributeName(t token) bool {
	text := p.tokenText(t)
	return bytes.HasPrefix(text, []byte("__")) || string(text) == "final"
}
