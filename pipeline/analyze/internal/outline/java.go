package outline

import (
	"bytes"

	"github.com/quarrysearch/quarry/schemas/code"
)

var javaLexis = newLexis("$", `"'/`, newWordTable(wAbstract, wBool, wChar, wClass, wDefault, wDouble, wEnum, wExtends, wFinal, wFloat,
	wImplements, wImport, wInt, wInterface, wLong, wNew, wPackage, wPrivate, wProtected, wPublic, wRecord, wReturn, wShort,
	wStatic, wThis, wThrows, wVoid, wVolatile), javaSpecial).withNested(javaNested, maxScopes)

func javaSpecial(s *scanner, c byte) token {
	switch c {
	case '/':
		return s.slashComment()
	case '"':
		if s.hasPrefix(`"""`) {
			return s.tripleQuoted(c)
		}
	}
	return s.scanQuoted(c, false)
}

// javaDialect parses declarations of Java.
type javaDialect struct{}

var _ dialect = javaDialect{}

func (javaDialect) handleToken(p *declParser, t token) bool {
	switch {
	case t.isPunct('@'):
		name := p.next()
		if name.word == wInterface {
			p.pushToken(name)
			return true
		}
		p.skipAnnotation()
		return true
	case t.isPunct('<'):
		if t, ok := p.readAngle(t); ok {
			p.pushToken(t)
			return true
		}
	}
	return false
}

// skipAnnotation skips the rest of an annotation after its first name.
func (p *declParser) skipAnnotation() {
	for {
		switch t := p.next(); {
		case t.isPunct('.'):
			p.next()
		case t.isPunct('('):
			p.groupToken(t)
			return
		default:
			p.unreadToken(t)
			return
		}
	}
}

func (d javaDialect) handleBody(p *declParser, open token) {
	fn := methodName(p.decl)
	typ := typeKeyword(p.decl)
	switch {
	case len(p.decl) > 0 && p.decl[0].word == wNew:
		d.enterAnonymous(p)
	case typ >= 0 && (fn < 0 || typ < fn):
		d.enterType(p, typ)
	case indexPunct(p.decl, '=') >= 0:
		p.skipInitializer(open)
	case fn >= 0:
		p.skipBody(p.defineName(p.decl[fn], "method"))
	default:
		p.skipBody(d.defineHeadless(p))
	}
}

// defineHeadless records the compact constructor of a record, which has no parameters, or a
// module, and returns its index, or -1.
func (javaDialect) defineHeadless(p *declParser) int32 {
	if len(p.decl) == 0 {
		return -1
	}
	top, last := p.topScope(), p.decl[len(p.decl)-1]
	if top.form == formType && last.isName() && bytes.Equal(p.tokenText(last), p.src[top.name.start:top.name.end]) {
		return p.defineName(last, "method")
	}
	for i := 0; top.form == formFile && i < min(2, len(p.decl)-1); i++ { // open module a.b
		if string(p.tokenText(p.decl[i])) == "module" {
			return p.rec.add(span{p.decl[i+1].start, last.end}, "module", scope{})
		}
	}
	return -1
}

// typeKeyword returns the index of the keyword before the name of a type, or -1.
func typeKeyword(decl []token) int {
	for i := 0; i+1 < len(decl); i++ {
		switch decl[i].word {
		case wClass, wStruct, wInterface, wEnum, wRecord, wTrait:
			if decl[i+1].isName() {
				return i
			}
		}
		if decl[i].isPunct('=') {
			return -1
		}
	}
	return -1
}

// methodName returns the index of the name before the parameters, or -1.
func methodName(decl []token) int {
	for i := 1; i < len(decl); i++ {
		switch {
		case decl[i].isPunct('='):
			return -1
		case decl[i].isGroup('(') && decl[i-1].isName():
			return i - 1
		case decl[i].isGroup('(') && i > 1 && decl[i-1].isGroup('<') && decl[i-2].isName():
			return i - 2
		}
	}
	return -1
}

func (d javaDialect) enterType(p *declParser, keyword int) {
	kind, f := code.SymbolKind("class"), formType
	switch t := p.decl[keyword]; t.word {
	case wEnum:
		kind, f = "enum", formEnum
	case wInterface:
		kind = "interface"
		if t.start > 0 && p.src[t.start-1] == '@' {
			kind = "annotation"
		}
	}
	name := p.decl[keyword+1]
	s := scope{form: f, name: name.toSpan(), kind: kind, def: p.defineName(name, kind)}
	if group, ok := componentsOf(p.decl, keyword+1); ok && p.decl[keyword].word == wRecord {
		p.defineComponents(s, group, "field", false)
	}
	p.enterScope(s)
}

// enterAnonymous enters the body of "new T(…) {". Its members have the parent T.
func (javaDialect) enterAnonymous(p *declParser) {
	last := len(p.decl) - 1
	at := last - 1
	if at > 0 && p.decl[at].isGroup('<') {
		at--
	}
	name := at
	for at > 1 && p.decl[at].isName() && p.decl[at-1].isPunct('.') {
		at -= 2
	}
	if !p.decl[last].isGroup('(') || at < 1 || !p.decl[name].isName() || p.decl[at-1].word != wNew {
		p.skipBody(-1)
		return
	}
	p.enterScope(scope{form: formType, name: p.decl[name].toSpan(), kind: "class", def: -1})
}

func (d javaDialect) handleStatement(p *declParser) {
	decl := p.decl
	p.reset()
	if len(decl) < 2 {
		return
	}
	switch decl[0].word {
	case wPackage:
		p.rec.add(span{decl[1].start, decl[len(decl)-1].end}, "package", scope{})
		return
	case wImport:
		return
	}
	if fn := methodName(decl); fn >= 0 {
		if p.topScope().form != formFile {
			p.defineName(decl[fn], "method")
		}
		return
	}
	p.defineFields(decl, "field")
}

// defineFields records the variables of a declaration "Type a, b = …".
func (p *declParser) defineFields(decl []token, kind code.SymbolKind) {
	for typed := false; len(decl) > 0; typed = true {
		end := indexPunct(decl, ',')
		if end < 0 {
			end = len(decl)
		}
		if name, ok := fieldName(decl[:end], typed); ok {
			p.defineName(name, kind)
		}
		decl = decl[min(end+1, len(decl)):]
	}
}

// fieldName returns the last name before a value. Unless typed is set, a type must
// precede the name.
func fieldName(part []token, typed bool) (token, bool) {
	var name token
	for _, t := range part {
		switch {
		case t.isPunct('='):
			return name, name.kind == tokWord && typed
		case typeWord(t.word), t.isGroup('<'), t.isGroup('('):
			typed = true
		case t.isName():
			typed = typed || name.kind == tokWord
			name = t
		}
	}
	return name, name.kind == tokWord && typed
}

func (javaDialect) handleClose(*declParser, scope) {}
