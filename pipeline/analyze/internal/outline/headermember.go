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

// headField is a word before the members in a header, or wNone for all parameters of the
// first group that has any, and the kind of these members.
type headField struct {
	word word
	kind code.SymbolKind
}

// headFields records the members that the groups after a name declare.
func (p *tableParser) headFields(r *compiledRule, kind code.SymbolKind) {
	in, found := scope{name: p.m.name, kind: kind}, false
	for i, t := range p.stmt {
		switch {
		case t.start < p.m.name.end, t.isGroup('(') && p.endsAnnotation(i):
		case t.isGroup('('):
			found = p.groupFields(r, t, in, !found) || found
			if i+1 < len(p.stmt) && !p.stmt[i+1].isGroup('(') {
				return
			}
		}
	}
}

// endsAnnotation reports whether the tokens of the statement before index end are the name of an
// annotation: @A, @param:A or @a.b.A.
func (p *tableParser) endsAnnotation(end int) bool {
	for i := end - 1; i > 0 && p.stmt[i].kind == tokWord; i -= 2 {
		switch before := p.stmt[i-1]; {
		case before.isPunct('@'):
			return true
		case !before.isPunct('.') && !before.isPunct(':'):
			return false
		}
	}
	return false
}

// groupFields records the members that the parameters in group declare: the last name of
// each before its type or value. It reports whether there are parameters. Unless first is
// set, only those after a word are members.
func (p *tableParser) groupFields(r *compiledRule, group token, parent scope, first bool) bool {
	in := p.scanner
	in.src, in.pos = p.src[:group.end-1], int(group.start)+1
	all := code.SymbolKind("")
	if first && r.fields[len(r.fields)-1].word == wNone {
		all = r.fields[len(r.fields)-1].kind
	}
	name, kind, value, found, last := token{}, all, false, false, group
	for {
		t := in.next()
		begins := last.isPunct(',') || last.start == group.start // of a parameter
		last = t
		switch {
		case t.kind == tokEOF, t.isPunct(','):
			if name.kind != tokNone && kind != "" {
				p.rec.add(p.m.nameSpan(name), kind, parent)
			}
			if t.kind == tokEOF {
				return found
			}
			name, kind, value = token{}, all, false
		case t.isPunct('('), (t.isPunct('[') || t.isPunct('{')) && !begins:
			in.groupToken(t)
		case t.isPunct('<'):
			if end, ok := in.angleEnd(); ok && p.table.angles {
				in.pos = end
			}
		case t.isPunct(':'), t.isPunct('='):
			value = true
		case t.isPunct('@'):
			in.next()
		case t.kind == tokWord && t.word != wNone && r.fieldKind(t.word) != "":
			name, kind, value = token{}, r.fieldKind(t.word), false
		case p.m.isName(t) && !value:
			name, found = t, true
		}
	}
}

// fieldKind returns the kind of the members after a word in a header, or "" for other
// words.
func (r *compiledRule) fieldKind(w word) code.SymbolKind {
	for _, f := range r.fields {
		if f.word == w {
			return f.kind
		}
	}
	return ""
}
