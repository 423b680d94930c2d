package outline

import (
	"bytes"
	"strings"
)

// scanOpener reads the comment or literal that begins at s.pos with the byte c. It
// returns tokNone for a comment, and punctuation if there is neither.
func (s *scanner) scanOpener(o *openers, c byte) token {
	if o.quoted[c] && s.pos > 0 && s.lex.class[s.src[s.pos-1]] >= classWord {
		if start := s.pos; s.openPrefixed(o) {
			return s.literalToken(start)
		}
	}
	for i := range o.by[c] {
		in := &o.by[c][i]
		if in.comment != nil {
			if in.comment.ends && s.endsBefore(in.comment) {
				return token{shape: shape{kind: tokPunct, ch: ';'}, start: int32(s.pos), end: int32(s.pos)}
			}
			if s.skipComment(in.comment) {
				return token{}
			}
			continue
		}
		if start := s.pos; s.openQuote(in) {
			return s.literalToken(start)
		}
	}
	switch {
	case c == '<' && o.heredocs:
		return s.heredocMark()
	case c == '/' && o.slashes:
		return s.slashLiteral()
	case c == '~' && o.sigils && isLetter(s.peekByte(1)):
		return s.scanSigil()
	case c == '#' && o.directives:
		return s.scanDirective()
	}
	return s.punctToken(1)
}

// openPrefixed reads the literal at s.pos if the word before it is its prefix.
func (s *scanner) openPrefixed(o *openers) bool {
	for i := range o.prefixed {
		in := &o.prefixed[i]
		at := s.pos - len(in.quote.prefix)
		if at >= 0 && s.hasPrefix(in.quote.open) && string(s.src[at:s.pos]) == in.quote.prefix &&
			(at == 0 || s.lex.class[s.src[at-1]] < classWord) {
			s.pos += len(in.quote.open)
			s.readLiteral(literalState{in, in.quote.close})
			return true
		}
	}
	return false
}

// columnComment skips a comment that begins with a letter in the first column.
func (s *scanner) columnComment(c byte) bool {
	for i := range s.lex.openers.by[c] {
		if in := &s.lex.openers.by[c][i]; in.comment != nil && s.skipComment(in.comment) {
			return true
		}
	}
	return false
}

// inColumn reports whether s.pos is in the given 1-based column.
func (s *scanner) inColumn(column int) bool {
	start := s.pos - column + 1
	return start >= 0 && (start == 0 || s.src[start-1] == '\n') && bytes.IndexByte(s.src[start:s.pos], '\n') < 0
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// skipComment skips the comment at s.pos and reports whether there was one.
func (s *scanner) skipComment(c *comment) bool {
	if !s.hasPrefix(c.open) && !(s.lex.words.fold && s.atFold(c.open)) {
		return false
	}
	switch {
	case c.column > 0 && !s.inColumn(c.column),
		c.first && !s.firstOnLine(s.pos),
		c.apart && s.pos > 0 && (s.lex.class[s.src[s.pos-1]] >= classSpecial || s.src[s.pos-1] == '$'):
		return false
	}
	if c.directive {
		s.scanConditional()
		return true
	}
	if c.close == "" {
		s.skipLine()
		return true
	}
	if c.nested {
		s.skipNested(c)
		return true
	}
	at := s.pos
	s.scanUntil(at, at+len(c.open), c.close)
	if s.skipSerial == 0 && !s.newline {
		s.newline = containsNewline(s.src[at:s.pos])
	}
	return true
}

// endsBefore reports whether the comment at s.pos ends the statement before it. It does so
// only once, because the comment is read after the end of the statement.
func (s *scanner) endsBefore(c *comment) bool {
	if s.holes || s.skipSerial != 0 || s.endedAt == s.pos || !s.hasPrefix(c.open) || !s.firstOnLine(s.pos) {
		return false
	}
	s.endedAt = s.pos
	return true
}

func (s *scanner) atFold(prefix string) bool {
	return len(s.src)-s.pos >= len(prefix) && strings.EqualFold(string(s.src[s.pos:s.pos+len(prefix)]), prefix)
}

// skipNested skips a comment that may contain others of its form.
func (s *scanner) skipNested(c *comment) {
	depth, start := 0, s.pos
	opens, closes := c.open[0], c.close[0]
	for s.pos < len(s.src) {
		switch first := s.src[s.pos]; {
		case first != opens && first != closes:
			s.pos++
		case s.hasPrefix(c.close) && depth > 0:
			depth--
			s.pos += len(c.close)
			if depth == 0 {
				if s.skipSerial == 0 && !s.newline {
					s.newline = containsNewline(s.src[start:s.pos])
				}
				return
			}
		case s.hasPrefix(c.open):
			depth++
			s.pos += len(c.open)
		default:
			s.pos++
		}
	}
}

// literalState is a literal that is being read.
type literalState struct {
	in    *opener
	close string // closing delimiter, with its fence or tag
}

// openQuote reads the literal at s.pos and reports whether there was one. If the caller
// wants holes (s.holes), it stops after the beginning of one.
func (s *scanner) openQuote(in *opener) bool {
	q := in.quote
	if q.apart && s.pos > 0 {
		if c := s.src[s.pos-1]; s.lex.class[c] >= classWord || c == ')' || c == ']' || c == '}' || c == '\'' || c == '.' {
			return false
		}
	}
	state := literalState{in: in, close: q.close}
	switch {
	case q.char:
		return s.scanChar(q)
	case q.tag:
		n := s.tagLength(q)
		if n == 0 {
			return false
		}
		state.close = string(s.src[s.pos : s.pos+n])
		s.pos += n
	case q.fence != 0:
		n := 0
		at := s.pos
		if q.fenceInside {
			at++
		}
		for at+n < len(s.src) && s.src[at+n] == q.fence && n < maxFence {
			n++
		}
		fence := strings.Repeat(string(rune(q.fence)), n)
		open := fence + q.open
		if q.fenceInside {
			open = q.open[:1] + fence + q.open[1:]
			state.close = q.close[:1] + fence + q.close[1:]
		} else {
			state.close = q.close + fence
		}
		if !s.hasPrefix(open) {
			return false
		}
		s.pos += len(open)
		if n > 0 && !q.fenceInside {
			state.in = in.raw
		}
	default:
		if !s.hasPrefix(q.open) {
			return false
		}
		s.pos += len(q.open)
	}
	s.readLiteral(state)
	return true
}

// maxFence bounds the bytes of a fence.
const maxFence = 64

// tagLength returns the length of the $tag$ at s.pos, or 0 if there is none.
func (s *scanner) tagLength(q *quote) int {
	for n := 1; n < maxFence && s.pos+n < len(s.src); n++ {
		c := s.src[s.pos+n]
		if c == q.open[0] {
			return n + 1
		}
		if s.lex.class[c] < classWord || n == 1 && s.lex.class[c] == classDigit {
			return 0
		}
	}
	return 0
}

// scanChar reads one character or escape between quotes.
func (s *scanner) scanChar(q *quote) bool {
	i := s.pos + len(q.open)
	if q.close == "" {
		s.pos = min(i+1, len(s.src))
		if i < len(s.src) && s.src[i] == q.escape {
			s.pos = min(i+2, len(s.src))
		}
		return true
	}
	if !s.hasPrefix(q.open) || i >= len(s.src) || s.src[i] == '\n' {
		return false
	}
	if s.src[i] == q.escape {
		for end := i + 2; end < len(s.src) && end < i+maxEscape && s.src[end] != '\n'; end++ {
			if s.src[end] == q.close[0] {
				s.pos = end + 1
				return true
			}
		}
		return false
	}
	// A non-ASCII character has up to four bytes.
	end := i + 1
	for s.src[i] >= 0x80 && end < len(s.src) && end < i+4 && s.src[end]&0xc0 == 0x80 {
		end++
	}
	if end < len(s.src) && s.src[end] == q.close[0] {
		s.pos = end + 1
		return true
	}
	return false
}

// maxEscape bounds the escape in a character literal, in bytes.
const maxEscape = 12

// readLiteral continues a literal to its end, or to a hole if the caller wants holes.
func (s *scanner) readLiteral(l literalState) {
	src, q, stop := s.src, l.in.quote, l.in.stop
	for {
		pos := s.pos
		for pos < len(src) && !stop[src[pos]] {
			pos++
		}
		s.pos = pos
		if pos >= len(src) {
			return
		}
		switch c := src[pos]; {
		case s.hasPrefix(l.close) && (q.escape != c || len(l.close) > 1):
			s.pos += len(l.close)
			if !q.doubled || !s.hasPrefix(l.close) {
				return
			}
			s.pos += len(l.close)
		case q.hole != "" && s.hasPrefix(q.hole):
			if s.literalHole(l) {
				return
			}
		case c == q.escape && q.escape != 0:
			s.pos = min(pos+2, len(src))
			if s.pos-1 < len(src) && src[s.pos-1] == '\r' && s.peekByte(0) == '\n' {
				s.pos++
			}
		case c == '\n' && !q.multiline:
			return
		default:
			s.pos++
		}
	}
}

// literalHole handles the expression inside a literal that begins at s.pos. It returns
// true if reading of the literal stops there for the expression.
func (s *scanner) literalHole(l literalState) bool {
	open := l.in.quote.hole
	if len(s.literals) >= maxLiteralDepth || s.literalDepth >= maxLiteralDepth {
		s.pos += len(open)
		return false
	}
	s.pos += len(open)
	if s.holes {
		s.literals = append(s.literals, openLiteral{literalState: l, bracket: open[len(open)-1]})
		return true
	}
	s.literalDepth++
	s.skipGroup(open[len(open)-1])
	s.literalDepth--
	return false
}

func containsNewline(b []byte) bool {
	return bytes.IndexByte(b, '\n') >= 0
}

// openLiteral is a literal that is suspended for an expression inside it.
type openLiteral struct {
	literalState
	bracket byte  // the bracket around the expression
	depth   int32 // open brackets of that form inside the expression
}
