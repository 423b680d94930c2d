package outline

import (
	"bytes"
	"slices"
)

// matchImplicit finds a definition without a keyword: TYPE NAME(…) {, TYPE NAME = ….
func (p *tableParser) matchImplicit(end byte) bool {
	c := p.table
	if c.functions == "" && c.variables == "" || p.topFrame().local {
		return false
	}
	words, at := 0, -1
	for i, t := range p.stmt {
		switch {
		case t.isGroup('(') && i > 0 && p.m.isName(p.stmt[p.beforeAngle(i-1)]):
			name := p.beforeAngle(i - 1)
			if name > 0 && p.stmt[name-1].isPunct('@') {
				continue // an annotation
			}
			if i+1 < len(p.stmt) && p.stmt[i+1].kind == tokWord && string(p.tokenText(p.stmt[name])) == "Function" {
				continue // the type of a function
			}
			if words < 2 && !c.untyped && !p.isConstructor(name) {
				return false
			}
			return p.implicitFunction(name, end)
		case t.isPunct('='):
			return at >= 0 && p.implicitVariables(at, words)
		case t.kind == tokWord:
			if i == 0 || !p.stmt[i-1].isPunct('@') {
				words++
				at = i
			}
		case t.isPunct('.') || t.isPunct(',') || t.isPunct('*') || t.isPunct('?') || t.isPunct('&') || t.isPunct('@') || t.isPunct('!') || t.isPunct('-') || t.isPunct('>') || t.kind == tokGroup || t.kind == tokString:
		default:
			return false
		}
	}
	return (end == ';' || end == '\n') && at >= 0 && p.implicitVariables(at, words)
}

// beforeAngle returns i, or the token before it if token i is the type parameters of a name.
func (p *tableParser) beforeAngle(i int) int {
	if i > 0 && p.stmt[i].isGroup('<') {
		return i - 1
	}
	return i
}

// implicitFunction records the function whose name is token i.
func (p *tableParser) implicitFunction(i int, end byte) bool {
	c := p.table
	if c.functions == "" || end != '{' && !c.prototypes && !p.arrowAfter(i+1) {
		return false
	}
	if i > 0 && (p.stmt[i-1].isPunct('.') && !p.isConstructor(i-2) || p.stmt[i-1].word != wNone && p.lex.words.flags[p.stmt[i-1].word]&wordReserved != 0 && c.notType(p.tokenText(p.stmt[i-1]))) {
		return false
	}
	kind := c.functions
	if kind == "function" && typeKinds[p.topFrame().kind] {
		kind = "method"
	}
	p.m.name, p.m.parent = p.m.nameSpan(p.stmt[i]), span{}
	def := p.rec.add(p.m.name, kind, p.parentScope())
	p.noteBlock(&compiledRule{rule: &rule{}}, def, kind, 0)
	return true
}

// isConstructor reports whether token i is the name of the enclosing type.
func (p *tableParser) isConstructor(i int) bool {
	top := p.topFrame()
	return i >= 0 && typeKinds[top.kind] && bytes.Equal(p.tokenText(p.stmt[i]), p.src[top.name.start:top.name.end])
}

// notType reports whether a word is reserved and cannot be a type, so that the name after
// it is a use.
func (c *compiledTable) notType(w []byte) bool {
	switch string(w) {
	case "return", "new", "throw", "else", "case", "assert", "await", "yield", "delete", "emit", "in", "goto":
		return true
	}
	return false
}

// arrowAfter reports whether "=>" follows token i.
func (p *tableParser) arrowAfter(i int) bool {
	for k := i + 1; k+1 < len(p.stmt); k++ {
		if p.stmt[k].isPunct('=') && p.stmt[k+1].isPunct('>') && p.stmt[k+1].start == p.stmt[k].end {
			return true
		}
	}
	return false
}

// implicitVariables records the variable whose name is token i, and the variables that
// follow it after commas.
func (p *tableParser) implicitVariables(i, words int) bool {
	c := p.table
	if c.variables == "" || words < 2 || !p.m.isName(p.stmt[i]) {
		return false
	}
	if first := p.stmt[0]; first.word != wNone && c.notType(p.tokenText(first)) {
		return false
	}
	// The names before token i, such as a in "int a, b = 2", follow a comma or a type.
	from := i
	for from >= 2 && p.stmt[from-1].isPunct(',') && p.m.isName(p.stmt[from-2]) {
		from -= 2
	}
	p.m.names = p.m.names[:0]
	if p.m.matchList(from) < 0 {
		return false
	}
	kind := c.variables
	if kind == "variable" && typeKinds[p.topFrame().kind] {
		kind = "field"
	}
	for _, name := range p.m.names {
		p.rec.add(name, kind, p.parentScope())
	}
	return true
}

// isImport reports whether the value after the first "=" of the statement begins with a
// word of imports, or consists of names.
func (p *tableParser) isImport(r *compiledRule) bool {
	first := 1
	for first < len(p.stmt) && !p.stmt[first-1].isPunct('=') {
		first++
	}
	for i, t := range p.stmt[first:] {
		if i == 0 && t.word != wNone && slices.Contains(r.imports, t.word) {
			return true
		}
		if !p.m.isName(t) && !t.isPunct(',') && !t.isPunct('.') {
			return false
		}
	}
	return first < len(p.stmt)
}
