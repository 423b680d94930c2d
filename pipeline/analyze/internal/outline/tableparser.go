package outline

import (
	"bytes"

	"github.com/quarrysearch/quarry/schemas/code"
)

// frame is an open block.
type frame struct {
	scope
	opener word
	column int32
	// local means that the block belongs to a function.
	local bool
	// items is the kind of names that the block lists; empty for an ordinary block.
	items code.SymbolKind
	// offside means that the block has no braces: it ends at a line that is not deeper than
	// column.
	offside bool
	// section is the level of a section, 0 for other blocks.
	section int
}

// tableParser finds definitions by a table. It collects the tokens of a statement and
// matches the rules against them when the statement ends.
type tableParser struct {
	scanner
	table  *compiledTable
	m      matcher
	frames []frame
	stmt   []token
	// pending is the definition whose block has not begun.
	pending frame
	waiting bool
	// plain means that the statement opens no block.
	plain bool
	// last is the last defined name, for rules that record a name once.
	last     span
	lastKind code.SymbolKind
	// column is the column of the first token of the statement.
	column int32
	// flatDepth is the number of open flat brackets, and flat means that there was one when
	// the statement began.
	flatDepth int
	flat      bool
}

// maxStatement bounds the tokens of a statement. Later tokens are dropped or, if words
// open blocks, form a separate statement.
const maxStatement = 128

// maxAttempts bounds the keywords of one statement at which rules are tried.
const maxAttempts = 8

func (c *compiledTable) run(s scanner) {
	if c.table.run != nil {
		c.table.run(s)
		return
	}
	p := &tableParser{scanner: s, table: c, stmt: make([]token, 0, maxStatement)}
	p.frames = append(make([]frame, 0, 16), frame{scope: scope{def: -1}, column: -1})
	p.m = matcher{src: s.src, flags: &s.lex.words.flags, pathSeps: c.path, quotes: c.quotes}
	p.parse()
}

func (p *tableParser) parse() {
	c := p.table
	if c.lineStart != "" {
		p.skipLines()
	}
	for {
		t := p.next()
		if t.kind == tokEOF {
			break
		}
		p.readToken(t)
	}
	p.endStatement(0)
	for len(p.frames) > 1 {
		p.popFrame(len(p.src))
	}
}

// readToken ends the statement before t if t begins a line, and adds t to the next one.
func (p *tableParser) readToken(t token) {
	c := p.table
	if t.newline && c.continued > 0 && t.end-t.start == 1 && p.columnOf(t) == c.continued-1 {
		return
	}
	if t.newline && c.offside {
		p.readOffside(t)
	}
	if t.newline && c.newlines && len(p.stmt) > 0 && !p.goesOn(t) {
		last := p.stmt[len(p.stmt)-1]
		p.endStatement('\n')
		if last.kind == tokPunct && c.textMark[last.ch] && p.skipText(t) || c.lineStart != "" && p.skipToLine(t) {
			return
		}
	}
	if t.newline && t.kind == tokPunct && c.start[t.ch] {
		p.endStatement('\n')
	}
	p.addToken(t)
}

// addToken adds a token to the statement, or ends the statement.
func (p *tableParser) addToken(t token) {
	c := p.table
	if t.kind == tokPunct {
		switch {
		case t.ch == '{' && c.blocks == blockBraces:
			p.openBrace()
			return
		case t.ch == '}' && c.blocks == blockBraces:
			p.endStatement('}')
			p.closeBrace(int(t.end))
			return
		case c.blocks == blockLists && (t.ch == '(' || t.ch == ')'):
			if t.ch == '(' && len(p.stmt) == 1 && p.stmt[0].word != wNone && p.lex.words.flags[p.stmt[0].word]&wordHead != 0 {
				p.stmt = append(p.stmt, t) // (define (name …
				return
			}
			p.endStatement(';')
			return
		case (t.ch == '(' || t.ch == '[' || t.ch == '{') && !c.flatOpen[t.ch]:
			t = p.groupToken(t)
		case t.ch == '<' && c.angles && p.angleMayBegin():
			if end, ok := p.angleEnd(); ok {
				p.pos = end
				t.kind, t.end = tokGroup, int32(end)
			}
		case t.ch == ',' && c.selectors && len(p.stmt) >= maxStatement/2 && (p.stmt[0].isPunct('.') || p.stmt[0].isPunct('#')):
			p.endStatement(',')
			return
		case t.ch == ':' && c.attributes != "" && p.isLabel():
			p.stmt = p.stmt[:0]
			return
		case c.separator[t.ch], t.ch == ',' && p.topFrame().items != "":
			p.endStatement(t.ch)
			return
		case c.flatOpen[t.ch]:
			p.flatDepth++
		case p.flatDepth > 0 && (t.ch == ')' || t.ch == ']' || t.ch == '}'):
			p.flatDepth--
		}
	}
	if n := len(p.stmt); n > 0 && c.joins != "" && p.stmt[n-1].isPunct(c.joins[0]) {
		p.stmt = p.stmt[:n-1]
	}
	if len(p.stmt) >= maxStatement {
		if c.blocks != blockWords {
			return
		}
		p.endStatement(',') // blocks may open and close in the following tokens
	}
	if len(p.stmt) == 0 && c.labels && t.isPunct(':') {
		p.next() // the label of a block
		return
	}
	if len(p.stmt) == 0 && c.columns {
		p.column = p.columnOf(t)
		if c.blocks == blockIndent {
			p.closeIndented(p.column, int(t.start))
		}
	}
	if len(p.stmt) == 0 {
		p.flat = p.flatDepth > 0
	}
	p.stmt = append(p.stmt, t)
	if t.word != wNone && p.lex.words.flags[t.word]&wordEnds != 0 {
		p.endStatement(';')
	}
}

// isLabel reports whether the statement consists of attributes alone.
func (p *tableParser) isLabel() bool {
	for i, t := range p.stmt {
		switch {
		case t.isPunct('@') && i+1 < len(p.stmt), t.kind == tokGroup && i > 0:
		case t.kind == tokWord && (t.word != wNone && p.table.attribute[t.word] || i > 0 && p.stmt[i-1].isPunct('@')):
		default:
			return false
		}
	}
	return len(p.stmt) > 0
}

func (p *tableParser) angleMayBegin() bool {
	if len(p.stmt) == 0 {
		return false
	}
	last := p.stmt[len(p.stmt)-1]
	return last.kind == tokWord
}

// goesOn reports whether the statement continues with t, the first token of a line.
func (p *tableParser) goesOn(t token) bool {
	last := p.stmt[len(p.stmt)-1]
	switch {
	case last.kind == tokPunct && p.table.trail[last.ch], p.table.resumes != nil && p.table.resumes(p, t):
		return true
	case t.kind == tokPunct:
		return p.table.goesOn[t.ch] || t.ch == '{' && p.table.blocks == blockBraces
	case t.kind == tokWord && t.word != wNone:
		return p.lex.words.flags[t.word]&wordContinues != 0
	}
	return false
}

// columnOf returns the 0-based column of t, at most maxColumn.
func (p *tableParser) columnOf(t token) int32 {
	from := max(0, int(t.start)-maxColumn)
	return t.start - int32(from) - int32(bytes.LastIndexByte(p.src[from:t.start], '\n')+1)
}

// maxColumn bounds the columns that are distinguished.
const maxColumn = 1000

// endStatement finds definitions in the statement that ends here.
func (p *tableParser) endStatement(end byte) {
	if len(p.stmt) == 0 {
		if end == ';' {
			p.topFrame().items = "" // members follow
		}
		return
	}
	waited := p.waiting
	if p.topFrame().items != "" {
		p.listItems(end)
	} else {
		p.matchStatement(end)
	}
	if waited || end == ';' && p.table.blocks == blockBraces {
		p.waiting = false // only the next statement may begin the block
	}
	p.stmt = p.stmt[:0]
}

func (p *tableParser) topFrame() *frame { return &p.frames[len(p.frames)-1] }

// matchStatement finds the definitions of the statement, and reports whether there are
// any.
func (p *tableParser) matchStatement(end byte) bool {
	c := p.table
	p.m.stmt, p.m.end = p.stmt, end
	if c.read != nil {
		c.read(p, end)
		return false
	}
	if c.blocks == blockWords {
		return p.matchWordStatement()
	}
	attempts := 0
	flags := &p.lex.words.flags
	for i, t := range p.stmt {
		if t.word == wNone || flags[t.word]&wordHead == 0 || i > 0 && p.stmt[i-1].kind == tokPunct && c.notHead[p.stmt[i-1].ch] {
			continue
		}
		if attempts++; attempts > maxAttempts {
			break
		}
		if p.tryRules(c.byWord[t.word], i) {
			return true
		}
	}
	return !c.noAnchor[p.stmt[0].word] && p.tryRules(c.anchored, 0) || p.matchImplicit(end)
}

// matchWordStatement does the same in languages in which words open and close blocks.
func (p *tableParser) matchWordStatement() bool {
	c, flags, attempts := p.table, &p.lex.words.flags, 0
	p.plain = false
	found := !c.noAnchor[p.stmt[0].word] && p.tryRules(c.anchored, 0)
	if found && p.plain {
		return true
	}
	for i, t := range p.stmt {
		if t.kind != tokWord || t.word == wNone {
			continue
		}
		flag := flags[t.word]
		if flag&(wordHead|wordOpens|wordOpensFirst|wordCloses) == 0 || i > 0 && p.stmt[i-1].kind == tokPunct && c.notHead[p.stmt[i-1].ch] && p.stmt[i-1].end == t.start {
			continue
		}
		if i+1 < len(p.stmt) && p.stmt[i+1].isPunct(':') && p.stmt[i+1].start == t.end && c.keyColon {
			continue
		}
		closes := flag&wordCloses != 0
		if closes && (!c.endNames || p.endsBlock(i)) {
			p.closeWord(t)
		}
		if flag&wordHead != 0 && attempts < maxAttempts {
			attempts++
			if p.tryRules(c.byWord[t.word], i) {
				if found = true; p.plain {
					return true
				}
			}
		}
		first := i == 0 || p.stmt[i-1].isPunct('=') || p.stmt[i-1].isPunct(':')
		if (flag&wordOpens != 0 || flag&wordOpensFirst != 0 && first) && !(closes && i > 0) && !p.afterCloser(i) {
			p.openWord(t)
		}
	}
	return found
}

// endsBlock reports whether the closing word at i ends a block that is tracked: "end
// type" does, "end if" does not.
func (p *tableParser) endsBlock(i int) bool {
	if i+1 >= len(p.stmt) || p.stmt[i+1].kind != tokWord || p.stmt[i+1].word == wNone || p.table.closed[p.stmt[i].word] != wNone {
		return i+1 >= len(p.stmt) || p.stmt[i+1].kind == tokWord
	}
	return p.lex.words.flags[p.stmt[i+1].word]&(wordBlock|wordOpens|wordOpensFirst) != 0
}

// afterCloser reports whether the word at i only names the block that "end" ends.
func (p *tableParser) afterCloser(i int) bool {
	return i > 0 && p.stmt[i-1].kind == tokWord && p.stmt[i-1].word != wNone &&
		p.table.endNames && p.lex.words.flags[p.stmt[i-1].word]&wordCloses != 0
}

func (p *tableParser) tryRules(rules []*compiledRule, i int) bool {
	top := p.topFrame()
	file := len(p.frames) == 1 && !p.flat
	for _, r := range rules {
		switch {
		case p.table.maxDepth > 0 && len(p.frames) > p.table.maxDepth,
			top.local && (!p.table.locals || r.value),
			r.in != nil && !(r.inFile && file) && !r.in[top.kind],
			r.column > 0 && p.column != r.column-1:
			continue
		}
		if p.m.matchPattern(r.pattern, i) {
			if r.imports == nil || !p.isImport(r) {
				p.recordDefinition(r)
			}
			return true
		}
	}
	return false
}

// recordDefinition records the definitions that a rule matched, and their block.
func (p *tableParser) recordDefinition(r *compiledRule) {
	level := r.level
	if r.levels {
		level = p.countRepeats()
	}
	if level > 0 {
		p.endSections(level)
	}
	parent := p.parentScope()
	kind := r.kind
	if r.again && p.lastKind != "" {
		kind = p.lastKind
	}
	p.lastKind = kind
	if !p.m.parent.isEmpty() && r.owner != ownerNone {
		owner := r.owner
		if owner == "" {
			owner = "class"
		}
		parent = scope{name: p.m.parent, kind: owner}
		if kind == "function" {
			kind = "method"
		}
	} else if kind == "function" && typeKinds[p.topFrame().kind] {
		kind = "method"
	}
	def := int32(-1)
	if kind == "" {
		p.m.name = span{} // a block that defines nothing
	} else if len(p.m.names) > 0 {
		for _, name := range p.m.names {
			if !p.isWildcard(name) {
				p.rec.add(name, kind, parent)
			}
		}
	} else if !p.m.name.isEmpty() && !p.isWildcard(p.m.name) {
		if r.once && bytes.Equal(p.src[p.last.start:p.last.end], p.src[p.m.name.start:p.m.name.end]) {
			return
		}
		p.last = p.m.name
		def = p.rec.add(p.m.name, kind, parent)
	}
	p.noteBlock(r, def, kind, level)
	if r.until != "" {
		p.skipUntil(r.until)
	}
	if len(r.fields) > 0 {
		p.headFields(r, kind)
	}
}

// isWildcard reports whether a name is "_", which binds nothing.
func (p *tableParser) isWildcard(name span) bool {
	return name.end-name.start == 1 && p.src[name.start] == '_'
}

// skipUntil skips to the line that begins with a word.
func (p *tableParser) skipUntil(word string) {
	for p.pos < len(p.src) {
		p.countStep()
		p.skipLine()
		p.pos = min(p.pos+1, len(p.src))
		p.skipBlanks()
		if p.hasPrefix(word) {
			p.skipLine()
			return
		}
	}
}

// listItems records the names that begin the items of the statement.
func (p *tableParser) listItems(end byte) {
	top := p.topFrame()
	p.m.stmt = p.stmt
	expect := true
	for _, t := range p.stmt {
		switch {
		case t.isPunct(','):
			expect = true
		case t.isPunct('@') || t.isGroup('['):
		case t.kind == tokWord && expect:
			if p.m.isName(t) && !p.isWildcard(t.toSpan()) {
				p.rec.add(t.toSpan(), top.items, p.parentScope())
			}
			expect = false
		default:
			expect = expect && t.isGroup('(')
		}
	}
	if end == ';' {
		top.items = "" // members follow
	}
}

// skipText skips the lines of a text whose first token is t. It returns false if they are
// no text: a text is indented deeper than the previous line, which ends with a mark.
func (p *tableParser) skipText(t token) bool {
	if p.columnOf(t) <= p.column {
		return false
	}
	p.pos = int(t.start)
	for p.pos < len(p.src) {
		p.countStep()
		p.skipLine()
		p.pos = min(p.pos+1, len(p.src))
		i := p.pos
		for i < len(p.src) && (p.src[i] == ' ' || p.src[i] == '\n' || p.src[i] == '\r') {
			if p.src[i] == '\n' {
				p.pos = i + 1
			}
			i++
		}
		if int32(i-p.pos) <= p.column {
			break
		}
	}
	p.newline = true
	return true
}

// skipLines moves to the next relevant line.
func (p *tableParser) skipLines() {
	for p.pos < len(p.src) {
		i := p.pos
		for i < len(p.src) && (p.src[i] == ' ' || p.src[i] == '\t') {
			i++
		}
		if i >= len(p.src) || p.table.lineFirst[p.src[i]] {
			return
		}
		p.pos = i
		p.countStep()
		p.skipLine()
		if p.pos < len(p.src) {
			p.pos++
		}
	}
}

// skipToLine returns to t, the first token of a line, and moves to the next relevant
// line.
func (p *tableParser) skipToLine(t token) bool {
	p.pos = int(t.start)
	p.skipLines()
	p.newline = true
	return true
}
