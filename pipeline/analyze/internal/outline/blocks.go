package outline

import (
	"github.com/quarrysearch/quarry/schemas/code"
)

// noteBlock records the block that a definition opens.
func (p *tableParser) noteBlock(r *compiledRule, def int32, kind code.SymbolKind, level int) {
	p.plain = r.body == bodyPlain
	f := frame{scope: scope{name: p.m.name, kind: kind, def: def}, items: r.items, section: level, column: p.column, local: p.topFrame().local}
	if def < 0 {
		f.name, f.kind = p.topFrame().name, p.topFrame().kind
		if r.kind != "" && r.body == bodyEnter {
			f.kind = r.kind
		}
	}
	how := r.body
	if how == bodyAuto {
		holder, value := r.holder, r.value
		if r.again || kind != r.kind && kind != "method" {
			holder, value = typeKinds[kind] || moduleKinds[kind], valueKinds[kind]
		}
		switch {
		case holder:
			how = bodyEnter
		case value:
			how = bodyNone
		case p.table.blocks == blockBraces && !p.table.locals:
			how = bodySkip
		default:
			how = bodyEnter
			f.local = true
		}
	}
	switch {
	case how == bodySection:
		p.pushFrame(f)
	case r.opens:
		if !p.pushFrame(f) {
			p.plain = true
		}
	case how == bodyNone, how == bodyPlain:
		if p.table.blocks == blockIndent {
			f.local = true
			p.pushFrame(f)
		}
	case p.table.blocks == blockIndent:
		p.pushFrame(f)
	case p.table.blocks == blockBraces && how == bodySkip:
		f.local = true
		p.pending, p.waiting = f, true
		p.pending.form = formFunction
	case p.table.blocks == blockBraces, p.table.blocks == blockWords:
		p.pending, p.waiting = f, true
		p.pending.form = formType
	}
}

// countRepeats returns how many times the first byte of the statement is repeated.
func (p *tableParser) countRepeats() int {
	n := 1
	for n < len(p.stmt) && p.stmt[n].kind == tokPunct && p.stmt[n].ch == p.stmt[0].ch {
		n++
	}
	return n
}

// endSections closes the sections at the given level and below.
func (p *tableParser) endSections(level int) {
	for len(p.frames) > 1 && p.topFrame().section >= level {
		p.popFrame(int(p.stmt[0].start))
	}
}

// parentScope returns the innermost open definition.
func (p *tableParser) parentScope() scope {
	top := p.topFrame()
	return scope{name: top.name, kind: top.kind}
}

func (p *tableParser) pushFrame(f frame) bool {
	if len(p.frames) >= maxScopes {
		p.rec.limited = true
		return false
	}
	f.first = int32(len(p.rec.defs))
	p.frames = append(p.frames, f)
	p.openScopes = int32(len(p.frames) - 1)
	return true
}

func (p *tableParser) popFrame(end int) {
	if p.topFrame().def >= 0 {
		p.rec.close(p.topFrame().def, end)
	}
	p.frames = p.frames[:len(p.frames)-1]
	p.openScopes = int32(len(p.frames) - 1)
}

// openBrace ends the statement at a "{" and enters or skips the block.
func (p *tableParser) openBrace() {
	// The head of a type may continue in a separate statement, such as the constructor in
	// Kotlin.
	headed := p.waiting && p.pending.form == formType
	p.waiting = false
	found := false
	if len(p.stmt) > 0 && p.topFrame().items == "" {
		found = p.matchStatement('{')
	}
	if headed && !found {
		found, p.waiting = true, true
	}
	inItems := p.topFrame().items != ""
	if inItems {
		p.skipGroup('{') // the body of an item
		return
	}
	begin := p.pos - 1
	if len(p.stmt) > 0 {
		begin = int(p.stmt[0].start)
	}
	p.stmt = p.stmt[:0]
	f := p.pending
	switch {
	case found && p.waiting && f.form == formType:
		p.waiting = false
		if p.table.maxDepth > 0 && len(p.frames) > p.table.maxDepth || !p.pushFrame(f) {
			p.skipGroup('{')
			p.rec.close(f.def, p.pos)
		}
	case found && p.waiting:
		p.waiting = false
		p.skipBlock(begin)
		p.rec.close(f.def, p.pos)
	case p.table.descend && p.pushFrame(frame{scope: scope{def: -1, name: p.topFrame().name, kind: p.topFrame().kind}, local: p.topFrame().local}):
	default:
		p.skipBlock(begin)
	}
}

func (p *tableParser) closeBrace(end int) {
	p.waiting = false
	for p.topFrame().offside {
		p.popFrame(end)
	}
	if len(p.frames) > 1 {
		p.popFrame(end)
	}
}

// readOffside opens and closes the blocks without braces at t, the first token of a line. A
// block after "=" is a body, in which definitions are local.
func (p *tableParser) readOffside(t token) {
	column := p.columnOf(t)
	if n := len(p.stmt); n > 1 && column > p.column && (p.stmt[n-1].isPunct(':') || p.stmt[n-1].isPunct('=')) {
		f := frame{scope: scope{def: -1, name: p.topFrame().name, kind: p.topFrame().kind}, local: true}
		begin, body := p.column, p.stmt[n-1].isPunct('=')
		if p.stmt = p.stmt[:n-1]; !body && p.matchStatement('{') && p.waiting && p.pending.form == formType {
			f = p.pending
		} else if body {
			p.stmt = p.stmt[:n] // rules may need the "="
			p.endStatement('\n')
		}
		p.stmt, p.waiting = p.stmt[:0], false
		f.column, f.offside = begin, true
		p.pushFrame(f)
		return
	}
	for p.topFrame().offside && p.topFrame().column >= column {
		p.endStatement('\n')
		p.popFrame(int(t.start))
	}
}

// openWord opens a block at a keyword.
func (p *tableParser) openWord(t token) {
	f := frame{scope: scope{def: -1, name: p.topFrame().name, kind: p.topFrame().kind}, local: p.topFrame().local}
	if p.waiting {
		f, p.waiting = p.pending, false
	}
	f.opener = t.word
	p.pushFrame(f)
}

// closeWord closes the block that t ends, and the blocks inside it.
func (p *tableParser) closeWord(t token) {
	p.waiting = false
	opening := p.table.closed[t.word]
	last := len(p.frames) - 1
	if opening != wNone {
		for last > 0 && p.frames[last].opener != opening {
			last--
		}
	}
	for last > 0 && len(p.frames) > last {
		p.popFrame(int(t.end))
	}
}

// closeIndented closes the blocks that end at a line in the given column.
func (p *tableParser) closeIndented(column int32, at int) {
	for len(p.frames) > 1 && p.topFrame().section == 0 && p.topFrame().column >= column {
		end := at
		for end > 0 && isBlank(p.src[end-1]) && at-end < maxColumn {
			end--
		}
		p.popFrame(end)
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
