package outline

import (
	"bytes"

	"github.com/quarrysearch/quarry/schemas/code"
)

var phpLexis = newLexis(`$\`, "\"'/#?<`", newWordTable(wAbstract, wCase, wClass, wConst, wDefine, wDo, wElse, wElseif, wEnum, wExtends,
	wFinal, wFn, wFor, wForeach, wFunction, wIf, wImplements, wInterface, wNamespace, wNew, wPrivate, wProtected,
	wPublic, wReadonly, wReturn, wStatic, wSwitch, wTrait, wTry, wUse, wVar, wWhile), phpSpecial).withNested(phpNested, maxScopes).foldWords()

func phpSpecial(s *scanner, c byte) token {
	switch c {
	case '/':
		return s.slashComment()
	case '#':
		if s.peekByte(1) == '[' {
			s.pos += 2
			s.skipGroup('[') // an attribute
			return token{}
		}
		s.phpLineComment()
		return token{}
	case '?':
		if s.peekByte(1) == '>' {
			t := s.punctToken(2)
			t.ch = ';'
			s.pos = phpStart(s.src, s.pos)
			return t
		}
		return s.punctToken(1)
	case '<':
		if s.hasPrefix("<<<") {
			return s.phpHeredoc()
		}
		return s.punctToken(1)
	}
	return s.scanQuoted(c, true)
}

// phpLineComment moves to the end of the line, or to the "?>" that ends PHP inside the
// comment.
func (s *scanner) phpLineComment() {
	start := s.pos
	s.skipLine()
	if i := bytes.Index(s.src[start:s.pos], []byte("?>")); i >= 0 {
		s.pos = start + i
	}
}

// phpStart returns the offset after the next opening tag from offset pos on.
func phpStart(src []byte, pos int) int {
	i := bytes.Index(src[pos:], []byte("<?"))
	if i < 0 {
		return len(src)
	}
	pos += i + 2
	if len(src)-pos >= 3 && bytes.EqualFold(src[pos:pos+3], []byte("php")) {
		pos += 3
	}
	return pos
}

// phpHeredoc reads <<<NAME, <<<"NAME" or <<<'NAME' and the lines up to NAME.
func (s *scanner) phpHeredoc() token {
	start := s.pos
	s.pos += 3
	s.skipBlanks()
	if c := s.peekByte(0); c == '"' || c == '\'' {
		s.pos++
	}
	from := s.pos
	for s.pos < len(s.src) && s.lex.class[s.src[s.pos]] >= classWord {
		s.pos++
	}
	name := s.src[from:s.pos]
	if len(name) == 0 {
		s.pos = start
		return s.punctToken(3)
	}
	for s.pos < len(s.src) {
		s.skipLine()
		s.pos = min(s.pos+1, len(s.src))
		s.skipBlanks()
		if bytes.HasPrefix(s.src[s.pos:], name) && s.lex.class[s.peekByte(len(name))] < classWord {
			s.pos += len(name)
			break
		}
	}
	return s.literalToken(start)
}

// runPHP reads the code between PHP's tags.
func runPHP(s scanner) {
	s.pos = phpStart(s.src, 0)
	declarationReader(phpDialect{})(s)
}

// phpDialect parses declarations of PHP.
type phpDialect struct{}

var _ dialect = phpDialect{}

func (phpDialect) handleToken(*declParser, token) bool { return false }

func (d phpDialect) handleBody(p *declParser, open token) {
	fn, typ := phpFunction(p.decl), typeKeyword(p.decl)
	switch {
	case len(p.decl) > 0 && p.decl[0].word == wNew && indexWord(p.decl, wClass) > 0:
		d.enterAnonymous(p)
	case d.isHooked(p):
		d.defineProperties(p, p.decl)
		p.skipBody(-1)
	case indexPunct(p.decl, '=') >= 0 || indexWord(p.decl, wReturn) >= 0:
		p.skipInitializer(open)
	case len(p.decl) > 0 && p.decl[0].word == wNamespace:
		d.enterNamespace(p)
	case typ >= 0 && (fn < 0 || typ < fn) && !(typ > 0 && p.decl[typ-1].word == wNew):
		name, kind := p.decl[typ+1], typeKind(p.decl[typ].word)
		p.enterScope(scope{form: formType, name: name.toSpan(), kind: kind, def: p.defineName(name, kind)})
	case fn >= 0:
		def := p.defineName(p.decl[fn], d.functionKind(p))
		group, ok := componentsOf(p.decl, fn)
		if s := p.topScope(); ok && s.form == formType && string(p.src[p.decl[fn].start:p.decl[fn].end]) == "__construct" {
			p.defineComponents(*s, group, "property", true)
		}
		p.skipBody(def)
	case p.topScope().form == formType || indexWord(p.decl, wFunction, wUse, wNew) >= 0:
		p.skipBody(-1)
	default:
		p.enterScope(p.inheritScope(formTransparent)) // if (…) { … }
	}
}

// isHooked reports whether the declaration is a property, whose hooks follow: its default
// value has no braces.
func (phpDialect) isHooked(p *declParser) bool {
	if p.topScope().form != formType || indexWord(p.decl, wFunction, wFn, wNew, wClass, wTrait, wInterface) >= 0 {
		return false
	}
	for _, t := range p.decl {
		if t.kind == tokWord && p.src[t.start] == '$' {
			return true
		}
	}
	return false
}

// enterAnonymous enters the body of "new class(…) extends T {". Its members have the parent
// T, or the first interface, or none.
func (phpDialect) enterAnonymous(p *declParser) {
	s := scope{form: formType, def: -1}
	if i := indexWord(p.decl, wExtends, wImplements) + 1; i > 0 && i < len(p.decl) && p.decl[i].isName() {
		s.name, s.kind = p.decl[i].toSpan(), "class"
		if slash := bytes.LastIndexByte(p.tokenText(p.decl[i]), '\\'); slash >= 0 {
			s.name.start += int32(slash) + 1
		}
	}
	p.enterScope(s)
}

func (phpDialect) functionKind(p *declParser) code.SymbolKind {
	if p.topScope().form == formType {
		return "method"
	}
	return "function"
}

// phpFunction returns the index of the name after "function", or -1 for a closure or if
// there is none. A method may have the name of a keyword.
func phpFunction(decl []token) int {
	i := indexWord(decl, wFunction)
	if i < 0 {
		return -1
	}
	i++
	if i < len(decl) && decl[i].isPunct('&') {
		i++
	}
	if i < len(decl) && decl[i].kind == tokWord {
		return i
	}
	return -1
}

func (phpDialect) enterNamespace(p *declParser) {
	s := p.inheritScope(formNamespace)
	if len(p.decl) > 1 && p.decl[1].kind == tokWord {
		s.name, s.kind = p.decl[1].toSpan(), "namespace"
		s.def = p.rec.add(s.name, "namespace", scope{})
	}
	p.enterScope(s)
}

func (d phpDialect) handleStatement(p *declParser) {
	decl := p.decl
	defer p.reset()
	if len(decl) < 2 {
		return
	}
	if decl[0].word == wNamespace {
		for p.topScope().form == formNamespace {
			p.popScope() // one namespace ends where the next begins
		}
		d.enterNamespace(p)
		return
	}
	inType := p.topScope().form == formType
	if fn := phpFunction(decl); fn >= 0 && inType {
		p.defineName(decl[fn], "method")
		return
	}
	switch i := indexWord(decl, wConst, wCase, wDefine); {
	case i >= 0 && decl[i].word == wConst && (i == 0 || !decl[i-1].isPunct(':')):
		d.defineConstants(p, decl[i+1:])
	case i == 0 && decl[0].word == wCase && inType:
		p.defineName(decl[1], "enumerator")
	case i == 0 && decl[0].word == wDefine && decl[1].isGroup('('):
		d.defineFromCall(p, decl[1])
	case inType && decl[0].word != wUse:
		d.defineProperties(p, decl)
	}
}

// defineConstants records the names before "=" in "A = 1, B = 2".
func (phpDialect) defineConstants(p *declParser, decl []token) {
	for i := 1; i < len(decl); i++ {
		if decl[i].isPunct('=') && decl[i-1].kind == tokWord && (i+1 >= len(decl) || !decl[i+1].isPunct('>')) {
			p.defineName(decl[i-1], "constant")
		}
	}
}

// defineFromCall records the constant of define('NAME', …).
func (phpDialect) defineFromCall(p *declParser, group token) {
	i := group.start + 1
	for i < group.end && p.src[i] == ' ' {
		i++
	}
	if i >= group.end || p.src[i] != '\'' && p.src[i] != '"' {
		return
	}
	end := i + 1
	for end < group.end && p.lex.class[p.src[end]] >= classWord {
		end++
	}
	if p.src[end] == p.src[i] {
		p.rec.add(span{i + 1, end}, "constant", scope{})
	}
}

// defineProperties records "$a, $b = …" without the dollar signs.
func (phpDialect) defineProperties(p *declParser, decl []token) {
	value := false
	for _, t := range decl {
		switch {
		case t.isPunct('='):
			value = true
		case t.isPunct(','):
			value = false
		case !value && t.kind == tokWord && p.src[t.start] == '$':
			t.start++
			p.defineName(t, "property")
		}
	}
}

func (phpDialect) handleClose(*declParser, scope) {}
