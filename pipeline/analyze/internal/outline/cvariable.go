package outline

import (
	"bytes"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// handleStatement records the types, members and variables of a declaration without a
// body. It ignores prototypes.
func (d cDialect) handleStatement(p *declParser) {
	if p.oldStyleParameters() {
		return // a K&R function: its body follows
	}
	decl := p.stripDecl()
	p.decl = p.decl[:0]
	if len(decl) < 2 || d.cpp && p.isModule(decl) {
		return
	}
	switch decl[0].word {
	case wTypedef:
		d.defineDeclarators(p, decl[1:], "typedef")
		return
	case wUsing:
		if eq := indexPunct(decl, '='); eq == 2 && decl[1].isName() {
			p.defineName(decl[1], "typedef")
		}
		return
	case wFriend, wStaticAssert, wReturn, wAsm, wTemplate, wNamespace, wNew, wDelete:
		return
	case wExtern:
		if indexPunct(decl, '=') < 0 {
			return
		}
	}
	fn, ok := d.findFunction(p, decl)
	if eq := indexAssignment(decl); ok && (eq < 0 || fn.index < eq) {
		return
	}
	kind := code.SymbolKind("variable")
	if p.topScope().form == formType {
		kind = "member"
	}
	d.defineDeclarators(p, decl, kind)
}

// isModule reports whether decl is the declaration or the import of a module.
func (p *declParser) isModule(decl []token) bool {
	if p.isExport(decl[0]) {
		decl = decl[1:]
	}
	if decl[0].end-decl[0].start != 6 || !decl[0].isName() {
		return false
	}
	text := string(p.tokenText(decl[0]))
	return text == "import" || text == "module"
}

// maxOldStyleBytes bounds the parameter list of a K&R function, which is searched at each
// ";" of its declarations.
const maxOldStyleBytes = 1024

// oldStyleParameters reports whether the ";" just read ends the declaration of a
// parameter of a K&R function: "int f(a, b) int a; char *b; {". If so, the tokens are
// kept for the body that follows.
func (p *declParser) oldStyleParameters() bool {
	open := indexGroup(p.decl, '(')
	n := len(p.decl)
	if open < 1 || open+2 >= n || !p.decl[open-1].isName() || p.topScope().form == formType {
		return false
	}
	list := p.src[p.decl[open].start+1 : p.decl[open].end-1]
	if len(list) > maxOldStyleBytes || bytes.ContainsAny(list, "(*[\"") {
		return false
	}
	last := p.decl[n-1]
	for last.isGroup('[') || last.isGroup('(') {
		n--
		last = p.decl[n-1]
	}
	return last.isName() && containsWord(list, p.tokenText(last))
}

// containsWord reports whether the comma-separated list contains the element w.
func containsWord(list, w []byte) bool {
	for element := range bytes.SplitSeq(list, []byte{','}) {
		if bytes.Equal(bytes.TrimSpace(element), w) {
			return true
		}
	}
	return false
}

// defineDeclarators records the names in a comma-separated list of declarators that
// follows the specifiers.
func (d cDialect) defineDeclarators(p *declParser, decl []token, kind code.SymbolKind) {
	first := true
	for len(decl) > 0 {
		end := indexPunct(decl, ',')
		if end < 0 {
			end = len(decl)
		}
		if name, ok := d.declaratorName(p, decl[:end], first, kind); ok {
			if owner := qualifierOf(decl[:end], name); !owner.isEmpty() && kind == "variable" {
				p.rec.add(name.toSpan(), "member", scope{name: owner, kind: "class"}) // int Type::name = 0;
			} else {
				p.defineName(name, kind)
			}
		} else if first && end == len(decl) {
			return
		}
		first = false
		decl = decl[min(end+1, len(decl)):]
	}
}

// qualifierOf returns the last name of the qualifier of a name among the tokens part.
func qualifierOf(part []token, name token) span {
	for i, t := range part {
		if t.start == name.start {
			return lastQualifier(part, i)
		}
	}
	return span{}
}

// declaratorName returns the name that one declarator defines. The first declarator also
// includes the specifiers, so a single name in it is a type and not a definition.
func (d cDialect) declaratorName(p *declParser, part []token, first bool, kind code.SymbolKind) (token, bool) {
	var name token
	names, typed := 0, !first
	for i, t := range part {
		if t.isPunct('=') || t.isPunct(':') && !isDoubleColon(part, i) || t.isGroup('[') && names > 0 || t.isGroup('{') {
			break
		}
		switch {
		case t.isGroup('('):
			called := i+1 < len(part) && part[i+1].kind == tokGroup
			if inner, ok := p.pointerName(t); ok && called {
				return inner, true
			}
			if i > 0 && called && kind == "typedef" {
				return p.onlyName(t)
			}
			if kind != "typedef" {
				return token{}, false
			}
		case t.kind == tokBody || typeWord(t.word):
			typed = true
		case t.isName():
			last := i == len(part)-1 && part[0].kind != tokBody
			afterBody := i > 0 && part[i-1].kind == tokBody
			if (afterBody || names > 0 && (typed || names > 1)) && p.attributeName(t) && (kind != "typedef" || !last) {
				continue
			}
			name = t
			names++
		}
	}
	return name, names > 1 || names == 1 && typed
}

// typeWord reports whether w is a complete type.
func typeWord(w word) bool {
	switch w {
	case wBool, wChar, wDouble, wFloat, wInt, wLong, wShort, wSigned, wUnsigned, wVoid, wTypeof, wDecltype:
		return true
	}
	return false
}

// onlyName returns the name in a group that contains nothing else: "(name)".
func (p *declParser) onlyName(group token) (token, bool) {
	text := p.src[group.start+1 : group.end-1]
	trimmed := bytes.TrimSpace(text)
	for _, c := range trimmed {
		if p.lex.class[c] < classWord {
			return token{}, false
		}
	}
	start := group.start + 1 + int32(bytes.Index(text, trimmed))
	return token{shape: shape{kind: tokWord}, start: start, end: start + int32(len(trimmed))}, len(trimmed) > 0
}

// pointerName returns the name in a group such as (*name) or (Type::*name[4]).
func (p *declParser) pointerName(group token) (token, bool) {
	s := p.src[group.start+1 : group.end]
	star := bytes.IndexAny(s, "*^&")
	if star < 0 {
		return token{}, false
	}
	for _, c := range s[:star] {
		if c == '(' || c == ')' || c == ',' {
			return token{}, false
		}
	}
	var name token
	for i := int(group.start) + 1 + star; i < int(group.end); {
		c := p.src[i]
		if p.lex.class[c] == classWord {
			start := i
			for i < int(group.end) && p.lex.class[p.src[i]] >= classWord {
				i++
			}
			name = token{shape: shape{kind: tokWord}, start: int32(start), end: int32(i)}
			continue
		}
		if c == '(' && name.kind == tokNone {
			i++
			continue
		}
		if c != '*' && c != ' ' && c != '\t' && c != '\n' && c != '^' && c != '&' {
			break
		}
		i++
	}
	return name, name.kind == tokWord
}

// handleClose leaves a placeholder for the type whose body has ended, so that the
// following declarators are read: "struct s { … } name;".
func (d cDialect) handleClose(p *declParser, s scope) {
	if s.form != formType && s.form != formEnum || s.form == formEnum && s.name.isEmpty() && s.kind == "" {
		return
	}
	if s.typedef {
		p.pushToken(token{shape: shape{kind: tokWord, word: wTypedef}})
	}
	p.pushToken(token{shape: shape{kind: tokBody}})
	if s.unnamed && (s.typedef || s.form == formType && p.topScope().form != formType) {
		// The members of a type without a name belong to the typedef or variable that follows.
		if name := s.bodyTail(p); name.kind == tokWord {
			p.rec.adoptParent(s.first, s.kind, name.toSpan())
		}
	}
}

// bodyTail returns the first name after a closed body that is neither a qualifier nor an
// attribute with its arguments, without consuming it.
func (s scope) bodyTail(p *declParser) token {
	i := p.pos
	var name token
	for i < len(p.src) {
		switch c := p.src[i]; {
		case p.lex.class[c] == classWord:
			start := i
			for i < len(p.src) && p.lex.class[p.src[i]] >= classWord {
				i++
			}
			word := string(p.src[start:i])
			if word == "const" || word == "volatile" {
				continue
			}
			name = token{shape: shape{kind: tokWord}, start: int32(start), end: int32(i)}
			next := i
			for next < len(p.src) && (p.lex.class[p.src[next]] == classSpace || p.lex.class[p.src[next]] == classNewline) {
				next++
			}
			// } PACKED name; but neither } NAME __packed; nor } name PACKED;
			isMacro := upperCase(p.src[start:i]) && next < len(p.src) && p.lex.class[p.src[next]] == classWord && !bytes.HasPrefix(p.src[next:], []byte("__"))
			if !isMacro && !strings.HasPrefix(word, "__") {
				return name
			}
		case c == '(' && name.kind == tokWord:
			name = token{}
			depth := 0
			for end := min(len(p.src), i+maxLine); i < end; i++ {
				if p.src[i] == '(' {
					depth++
				} else if p.src[i] == ')' {
					depth--
				}
				if depth == 0 {
					break
				}
			}
			i++
		case p.lex.class[c] == classSpace || p.lex.class[c] == classNewline:
			i++
		default:
			return name
		}
	}
	return name
}
