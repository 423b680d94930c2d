package outline

import "github.com/quarrysearch/quarry/schemas/code"

// defineComponents records the members of type s that the parameters in group declare.
// With promoted, only parameters with a modifier such as "private" are members. It reads
// the group again, because the declaration has it as one token.
func (p *declParser) defineComponents(s scope, group token, kind code.SymbolKind, promoted bool) {
	pos, prev, newline, noAngleTil := p.pos, p.prev, p.newline, p.noAngleTil
	p.noAngleTil = 0
	end := group.end - 1
	p.pos = int(group.start) + 1
	name, member, value := token{}, !promoted, false
	for {
		t := p.next()
		if t.kind == tokEOF || t.start >= end || t.isPunct(',') {
			if name.kind == tokWord && member {
				p.rec.add(name.toSpan(), kind, s)
			}
			if !t.isPunct(',') || t.start >= end {
				break
			}
			name, member, value = token{}, !promoted, false
			continue
		}
		switch {
		case t.isPunct('('), t.isPunct('['), t.isPunct('{'):
			p.groupToken(t)
		case t.isPunct('<'):
			p.readAngle(t)
		case t.isPunct('@'):
			p.next() // the annotation's name; its arguments are a group
		case t.isPunct('='):
			value = true
		case value:
		case t.word == wPrivate, t.word == wProtected, t.word == wPublic, t.word == wReadonly:
			member = true
		case t.isName():
			if name = t; p.src[t.start] == '$' {
				name.start++ // the symbol omits the dollar sign of PHP
			}
		}
	}
	p.pos, p.prev, p.newline, p.noAngleTil = pos, prev, newline, noAngleTil
}

// componentsOf returns the parameters after the type name decl[name], and reports whether
// the type has any.
func componentsOf(decl []token, name int) (token, bool) {
	i := name + 1
	if i < len(decl) && decl[i].isGroup('<') {
		i++
	}
	if i < len(decl) && decl[i].isGroup('(') {
		return decl[i], true
	}
	return token{}, false
}
