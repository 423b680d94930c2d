package outline

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// A body that is skipped may contain definitions with members: anonymous classes, items of
// Rust, structs of C. While the scanner skips the body, it notes the "{" before which a
// lexis finds the beginning of such a definition, and the grammar reads these afterwards.

// nestedBrace is a "{" inside a skipped body that may begin the body of a definition.
type nestedBrace struct {
	from  int32 // where the definition may begin
	brace int32
}

// maxNested bounds how often a text is read again: once for each noted definition around
// it.
const maxNested = 4

// maxLine bounds how far before a "{" the beginning of a definition is sought, in bytes.
const maxLine = 256

// withNested sets nested and nestedDepth.
func (l *lexis) withNested(nested func(s *scanner, brace int) int, depth int32) *lexis {
	l.nested, l.nestedDepth = nested, depth
	return l
}

// lineBefore returns the offset of the first byte that is not blank on the line of offset
// pos.
func (s *scanner) lineBefore(pos int) int {
	pos = s.lineStart(pos)
	for s.src[pos] == ' ' || s.src[pos] == '\t' {
		pos++
	}
	return pos
}

// lineStart returns the offset at which the line of offset pos starts, at most maxLine bytes
// before it.
func (s *scanner) lineStart(pos int) int {
	limit := max(0, pos-maxLine)
	for pos-8 >= limit {
		// A byte of x is zero where the text has a line break, and the highest bit of a byte
		// of breaks is set there.
		x := binary.LittleEndian.Uint64(s.src[pos-8:]) ^ 0x0a0a0a0a0a0a0a0a
		breaks := ^((x&0x7f7f7f7f7f7f7f7f + 0x7f7f7f7f7f7f7f7f) | x | 0x7f7f7f7f7f7f7f7f)
		if breaks != 0 {
			pos -= bits.LeadingZeros64(breaks) / 8
			limit = pos
			break
		}
		pos -= 8
	}
	for pos > limit && s.src[pos-1] != '\n' {
		pos--
	}
	return pos
}

// anonymousClass returns where an expression "new T(…) {" whose brace is at offset brace
// may begin: at the first occurrence of word on the line and in the body, or -1.
func anonymousClass(s *scanner, brace int, word []byte) int {
	line := max(s.lineBefore(brace), s.bodyBrace+1)
	switch s.src[line] {
	case '}':
		return -1 // } else if (…) {
	case 'c', 'f', 'i', 's', 't', 'w':
		end := line
		for end < brace && s.lex.class[s.src[end]] >= classWord {
			end++
		}
		switch string(s.src[line:end]) {
		case "catch", "for", "foreach", "if", "switch", "try", "while":
			return -1
		}
	}
	if i := bytes.Index(s.src[line:brace], word); i >= 0 {
		return line + i
	}
	return -1
}

// javaNested finds anonymous classes.
func javaNested(s *scanner, brace int) int {
	if brace < 2 || s.src[brace-1] != ')' && s.src[brace-2] != ')' {
		return -1
	}
	return anonymousClass(s, brace, newWord)
}

// phpNested finds anonymous classes whose header has at most maxLine bytes: "new class",
// arguments, and names of types. It reads backwards, so that other blocks end it soon.
func phpNested(s *scanner, brace int) int {
	from, depth := max(s.bodyBrace+1, brace-maxLine), 0
	for pos := brace; pos > from; {
		c := s.src[pos-1]
		if depth == 0 && s.lex.class[c] >= classWord {
			start := s.wordStart(pos)
			if bytes.EqualFold(s.src[start:pos], classWordText) {
				before, word := s.wordBefore(start)
				if bytes.EqualFold(word, readonlyWord) {
					before, word = s.wordBefore(before)
				}
				if bytes.EqualFold(word, newWord[:3]) && before >= from {
					return before
				}
				return -1
			}
			pos = start
			continue
		}
		pos--
		switch {
		case c == ')':
			depth++
		case c == '(':
			depth--
		case depth == 0 && c != ',' && !isBlank(c):
			return -1 // something else is before this brace
		}
	}
	return -1
}

var newWord, classWordText, readonlyWord = []byte("new "), []byte("class"), []byte("readonly")

// cNested finds structs, unions and enums that have a name or are the type of a typedef.
func cNested(s *scanner, brace int) int {
	end := brace
	for end > 0 && isBlank(s.src[end-1]) && brace-end < maxLine {
		end--
	}
	last := s.wordStart(end)
	if last == end {
		return -1
	}
	start, before := s.wordBefore(last)
	switch {
	case isAggregate(before):
		if typedef, word := s.wordBefore(start); string(word) == "typedef" {
			return typedef
		}
		return start
	case string(before) == "typedef" && isAggregate(s.src[last:end]):
		return start
	}
	return -1
}

// isAggregate reports whether word is a keyword before the body of a type of C.
func isAggregate(word []byte) bool {
	switch string(word) {
	case "struct", "union", "enum":
		return true
	}
	return false
}

// wordBefore returns the word that ends before the blanks before offset pos, and its start.
func (s *scanner) wordBefore(pos int) (start int, word []byte) {
	end := pos
	for end > 0 && pos-end < maxLine && (s.src[end-1] == ' ' || s.src[end-1] == '\t') {
		end--
	}
	start = s.wordStart(end)
	return start, s.src[start:end]
}

// kotlinNested finds object expressions with a supertype.
func kotlinNested(s *scanner, brace int) int {
	begin := max(s.lineStart(s.beforeArguments(brace)), s.bodyBrace+1)
	for pos := begin; ; pos++ {
		colon := bytes.IndexByte(s.src[pos:brace], ':')
		if colon < 0 {
			return -1
		}
		pos += colon
		end := pos
		if end > begin && s.src[end-1] == ' ' {
			end--
		}
		if start := end - len(objectWord); start >= begin && bytes.Equal(s.src[start:end], objectWord) {
			return start
		}
	}
}

var objectWord = []byte("object")

// beforeArguments returns the offset of the "(" whose ")" is before the blank and the "{" at
// offset brace, at most maxLine bytes before it, or else brace.
func (s *scanner) beforeArguments(brace int) int {
	if brace < 2 || s.src[brace-2] != ')' {
		return brace
	}
	for pos, depth := brace-2, 0; pos >= max(0, brace-maxLine); pos-- {
		switch s.src[pos] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return pos
			}
		}
	}
	return brace
}

// wordStart returns the start of the word that ends at offset end, at most maxLine bytes
// before it.
func (s *scanner) wordStart(end int) int {
	start := end
	for start > 0 && end-start < maxLine && s.lex.class[s.src[start-1]] >= classWord {
		start--
	}
	return start
}

// rustNested finds items directly inside the body of a function: they are indented by one
// level, unlike those in the text of a macro.
func rustNested(s *scanner, brace int) int {
	line := s.lineBefore(brace)
	word := line
	for word < brace && s.lex.class[s.src[word]] >= classWord {
		word++
	}
	switch string(s.src[line:word]) {
	case "async", "enum", "fn", "impl", "pub", "struct", "trait", "unsafe":
		if indent := s.indentOf(line) - s.indentOf(s.lineBefore(s.bodyBrace)); indent > 0 && indent <= maxIndent {
			return line
		}
	}
	return -1
}

// maxIndent is the largest indentation of a level, in bytes.
const maxIndent = 4

// indentOf returns the number of blanks before offset pos, at most maxLine.
func (s *scanner) indentOf(pos int) int {
	start := pos
	for start > 0 && pos-start < maxLine && (s.src[start-1] == ' ' || s.src[start-1] == '\t') {
		start--
	}
	return pos - start
}

// skipNoting skips the body whose "{" has just been read, and notes the definitions inside
// from index len(s.nested) on.
func (s *scanner) skipNoting() {
	if s.lex.nested == nil || s.nestedDepth >= maxNested {
		s.skipGroup('{')
		return
	}
	s.bodyBrace, s.noteDepth = s.pos-1, s.lex.nestedDepth
	s.skipGroup('{')
	s.noteDepth = 0
}

// readNested reads the definitions noted from index first on with read, which reads one
// of them, and returns to the end of the body.
func (s *scanner) readNested(first int, read func(nestedBrace)) {
	last := len(s.nested)
	pos, prev, newline, noAngleTil := s.pos, s.prev, s.newline, s.noAngleTil
	conditions, deaf := s.conditions, s.deaf
	s.nestedDepth, s.deaf = s.nestedDepth+1, true
	end := 0
	for _, n := range s.nested[first:last] {
		if int(n.from) < end {
			continue // inside the previous one
		}
		s.pos, s.noAngleTil, s.conditions = int(n.from), 0, nil
		read(n)
		end = s.pos
	}
	s.nestedDepth--
	s.nested = s.nested[:first]
	s.pos, s.prev, s.newline, s.noAngleTil = pos, prev, newline, noAngleTil
	s.conditions, s.deaf = conditions, deaf
}

// readNested reads one definition with read, token by token, in a scope.
func (c *scopes) readNested(s *scanner, in scope, n nestedBrace, read func(token)) {
	c.pushScope(in)
	for depth := len(c.stack); s.pos <= int(n.brace) || len(c.stack) > depth; {
		t := s.next()
		if t.kind == tokEOF {
			c.stack = c.stack[:depth]
			break
		}
		read(t)
	}
	c.popScope()
}

// readNested reads the definitions inside the body of definition def that were noted from
// index first on.
func (p *declParser) readNested(first int, def int32) {
	in := p.inheritScope(formNamespace)
	if def >= 0 {
		in.name, in.kind = p.rec.defs[def].name, p.rec.defs[def].kind
	}
	decl := p.decl
	p.scanner.readNested(first, func(n nestedBrace) {
		if p.isFull() {
			return
		}
		p.decl = decl[len(decl):] // the free part of the same array
		p.scopes.readNested(&p.scanner, in, n, p.readToken)
		p.readTypedef(in)
	})
	p.decl = decl
}

// readTypedef reads the names after the body of a typedef in a scope.
func (p *declParser) readTypedef(in scope) {
	p.pushScope(in)
	for range maxDeclTokens {
		if len(p.decl) == 0 || p.decl[0].word != wTypedef {
			break
		}
		t := p.next()
		if t.kind == tokEOF || t.isPunct('{') || t.isPunct('}') {
			break
		}
		p.readToken(t)
	}
	p.popScope()
}

// skipBlock skips the block whose "{" has just been read, and reads the definitions inside
// and the one that it may begin itself. The statement before it begins at offset begin.
func (p *tableParser) skipBlock(begin int) {
	first := len(p.nested)
	if p.lex.nested != nil && p.nestedDepth < maxNested {
		brace := p.pos - 1
		p.bodyBrace = begin - 1
		if from := p.lex.nested(&p.scanner, brace); from >= 0 {
			p.nested = append(p.nested, nestedBrace{int32(from), int32(brace)})
		}
	}
	p.skipNoting()
	if len(p.nested) == first {
		return
	}
	stmt, pending, waiting, last := p.stmt, p.pending, p.waiting, p.last
	p.scanner.readNested(first, p.readObject)
	p.stmt, p.pending, p.waiting, p.last = stmt, pending, waiting, last
}

// readObject reads the members of "object : T {". Their parent is T.
func (p *tableParser) readObject(n nestedBrace) {
	p.next()
	p.next()
	name := p.next()
	for p.peekByte(0) == '.' {
		p.next()
		name = p.next()
	}
	p.pos, p.stmt, p.waiting = int(n.brace)+1, p.stmt[:0], false
	if name.kind != tokWord || !p.pushFrame(frame{scope: scope{name: name.toSpan(), kind: "class", def: -1}}) {
		return
	}
	for depth := len(p.frames); len(p.frames) >= depth; {
		t := p.next()
		if t.kind == tokEOF {
			p.endStatement(0)
			for len(p.frames) >= depth {
				p.popFrame(len(p.src))
			}
			return
		}
		p.readToken(t)
	}
}
