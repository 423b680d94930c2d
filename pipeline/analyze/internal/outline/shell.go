package outline

var shellLexis = newLexis("-.:@+", "\"'#<$\\`", newWordTable(wAlias, wDo, wElse, wFunction, wIf, wThen, wWhile, wUntil, wElif), shellSpecial)

func shellSpecial(s *scanner, c byte) token {
	switch c {
	case '#':
		if s.pos == 0 || s.lex.class[s.src[s.pos-1]] == classSpace || s.lex.class[s.src[s.pos-1]] == classNewline || s.src[s.pos-1] == ';' || s.src[s.pos-1] == '(' {
			s.skipLine()
			return token{}
		}
		return s.punctToken(1)
	case '\'':
		return s.scanUntil(s.pos, s.pos+1, "'")
	case '`':
		return s.scanQuoted(c, true)
	case '"':
		start := s.pos
		s.pos++
		s.doubleQuoted(0)
		return s.literalToken(start)
	case '\\':
		s.pos = min(s.pos+2, len(s.src))
		return token{}
	case '$':
		return s.scanExpansion()
	}
	return s.shellHeredoc()
}

// doubleQuoted reads a string after its opening quote. Command substitutions in it may
// contain further strings.
func (s *scanner) doubleQuoted(depth int) {
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		switch {
		case c == '\\':
			s.pos = min(s.pos+2, len(s.src))
			continue
		case c == '"':
			s.pos++
			return
		case c == '$' && s.peekByte(1) == '(' && depth < maxHoles:
			s.pos += 2
			s.skipSubstitution(depth + 1)
			continue
		}
		s.pos++
	}
}

// skipSubstitution skips a command up to the ")" that ends it.
func (s *scanner) skipSubstitution(depth int) {
	parens := 1
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		s.pos++
		switch c {
		case '(':
			parens++
		case ')':
			if parens--; parens == 0 {
				return
			}
		case '\\':
			s.pos = min(s.pos+1, len(s.src))
		case '\'':
			s.scanUntil(s.pos, s.pos, "'")
		case '"':
			s.doubleQuoted(depth)
		}
	}
}

// scanExpansion reads "$", "${…}" or "$'…'".
func (s *scanner) scanExpansion() token {
	start := s.pos
	switch s.peekByte(1) {
	case '{':
		s.pos += 2
		s.skipGroup('{')
	case '\'':
		s.pos++
		return s.scanQuoted('\'', true)
	case '#', '$', '<', '"', '`':
		if s.peekByte(1) == '#' || s.peekByte(1) == '$' {
			s.pos += 2
		} else {
			s.pos++
		}
	default:
		s.pos++
	}
	return s.literalToken(start)
}

// shellHeredoc reads the start of a heredoc (<<NAME, <<-'NAME'), or else "<".
func (s *scanner) shellHeredoc() token {
	if s.peekByte(1) != '<' || s.peekByte(2) == '<' {
		n := 1
		for s.peekByte(n) == '<' {
			n++
		}
		return s.punctToken(n)
	}
	start := s.pos
	s.pos += 2
	indented := s.peekByte(0) == '-'
	if indented {
		s.pos++
	}
	s.skipBlanks()
	quote := s.peekByte(0)
	if quote == '\'' || quote == '"' || quote == '\\' {
		s.pos++
	}
	from := s.pos
	for s.pos < len(s.src) && s.lex.class[s.src[s.pos]] >= classWord {
		s.pos++
	}
	if s.lex.class[s.src[min(from, len(s.src)-1)]] != classDigit { // 1<<2 shifts
		s.addHeredoc(s.src[from:s.pos], indented)
	}
	if s.pos < len(s.src) && s.src[s.pos] == quote {
		s.pos++
	}
	return s.literalToken(start)
}

// shellParser reads commands by their first words.
type shellParser struct {
	scanner
	open   []shellBrace
	before token
}

// shellBrace is a "{ …; }" and the function whose body it is.
type shellBrace struct{ def int32 }

// maxBraces bounds the nesting of braces that is tracked.
const maxBraces = 1000

func runShell(s scanner) {
	p := &shellParser{scanner: s}
	pending := int32(-1) // the function whose body is expected
	for {
		t := p.next()
		if t.kind == tokEOF {
			return
		}
		switch {
		case t.isPunct('{') && len(p.open) < maxBraces:
			p.open = append(p.open, shellBrace{pending})
			pending = -1
		case t.isPunct('}') && p.beginsCommand(t) && len(p.open) > 0:
			p.rec.close(p.open[len(p.open)-1].def, int(t.end))
			p.open = p.open[:len(p.open)-1]
		case t.kind == tokWord && p.beginsCommand(t):
			pending = p.readCommand(t)
		}
		p.before = p.prev
	}
}

// beginsCommand reports whether t is at the beginning of a command.
func (p *shellParser) beginsCommand(t token) bool {
	if t.newline || p.before.kind == tokNone {
		return true
	}
	b := p.before
	if b.kind == tokPunct {
		switch b.ch {
		case ';', '&', '|', '{', '(', ')':
			return true
		}
	}
	switch b.word {
	case wDo, wElse, wThen, wIf, wWhile, wUntil, wElif:
		return true
	}
	return false
}

// readCommand continues after the first word of a command. It returns the function whose
// definition the command begins, or -1.
func (p *shellParser) readCommand(t token) int32 {
	switch t.word {
	case wFunction:
		name := p.next()
		if name.kind != tokWord || name.newline {
			p.unreadToken(name)
			return -1
		}
		p.skipParentheses()
		return p.rec.add(name.toSpan(), "function", scope{})
	case wAlias:
		if name := p.next(); name.kind == tokWord && p.peekByte(0) == '=' {
			p.rec.add(name.toSpan(), "alias", scope{})
		} else {
			p.unreadToken(name)
		}
	case wNone:
		if p.skipParentheses() {
			return p.rec.add(t.toSpan(), "function", scope{})
		}
	}
	return -1
}

// skipParentheses consumes "()" and reports whether it was there.
func (p *shellParser) skipParentheses() bool {
	i := p.pos
	for i < len(p.src) && (p.src[i] == ' ' || p.src[i] == '\t') {
		i++
	}
	if i >= len(p.src) || p.src[i] != '(' {
		return false
	}
	for i++; i < len(p.src) && (p.src[i] == ' ' || p.src[i] == '\t'); i++ {
	}
	if i >= len(p.src) || p.src[i] != ')' {
		return false
	}
	p.pos = i + 1
	return true
}
