package outline

import (
	"bytes"
	"time"
)

// class is the kind of token that a byte begins.
type class uint8

const (
	classPunct   class = iota // punctuation of one byte
	classSpace                // blank
	classNewline              // line feed
	classSpecial              // read by the special function of the lexis
	classWord                 // letter; words continue with this class and those listed below it
	classDigit
	classColumn // letter that begins a comment in a certain column
)

// lexis is the lexical table of a language.
type lexis struct {
	class [256]class
	// brace, paren and bracket mark the bytes at which the scanner must stop while it
	// skips such a group.
	brace, paren, bracket [256]bool
	words                 *wordTable
	// special reads the token that begins with byte c at s.pos, and moves s.pos past it.
	// It returns tokNone for trivia.
	special func(s *scanner, c byte) token

	// nested returns where the definition may begin whose body begins with the "{" at
	// offset brace of a skipped body, or -1 if none does; nil if bodies have no definitions
	// that are read.
	nested func(s *scanner, brace int) int
	// nestedDepth is the depth in the body down to which there may be such a definition.
	nestedDepth int32

	// openers are the comments and literals of a table; nil for a hand-written lexis.
	openers    *openers
	quoteWords map[string]bool
	// suffix marks bytes that may end a word. irregularWords means that there are such
	// bytes, or that words are case-insensitive or may begin literals.
	suffix         [256]bool
	irregularWords bool
	escapes        bool // see lexicon
}

// newLexis returns the lexical table of a language. The special function reads the bytes
// in specials. Identifiers may contain the bytes in letters, ASCII letters, digits,
// underscores and all bytes above ASCII.
func newLexis(letters, specials string, words *wordTable, special func(*scanner, byte) token) *lexis {
	l := &lexis{words: words, special: special}
	for c := range 256 {
		switch b := byte(c); {
		case b == '\n':
			l.class[c] = classNewline
		case b <= ' ' || b == 0x7f:
			l.class[c] = classSpace
		case b >= '0' && b <= '9':
			l.class[c] = classDigit
		case b == '_', b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= 0x80:
			l.class[c] = classWord
		}
	}
	for _, c := range []byte(letters) {
		l.class[c] = classWord
	}
	for _, c := range []byte(specials) {
		l.class[c] = classSpecial
		l.brace[c], l.paren[c], l.bracket[c] = true, true, true
	}
	l.brace['{'], l.brace['}'] = true, true
	l.paren['('], l.paren[')'] = true, true
	l.bracket['['], l.bracket[']'] = true, true
	return l
}

// foldWords makes keywords case-insensitive.
func (l *lexis) foldWords() *lexis {
	l.words.fold, l.irregularWords = true, true
	return l
}

// scanner reads the tokens of a text.
type scanner struct {
	src      []byte
	pos      int
	lex      *lexis
	rec      *recorder
	newline  bool // there was a line break after the last token
	steps    int
	deadline time.Time
	timedOut *bool

	// skipDepth is the depth in the group that is being skipped, and skipSerial its
	// number; both are 0 outside. See conditional.
	skipDepth    int32
	skipSerial   int32
	skips        int32
	conditions   []conditional
	nested       []nestedBrace
	nestedDepth  int   // number of noted definitions around the text that is read
	noteDepth    int32 // definitions inside the skipped body are noted down to this depth; 0 for none
	deaf         bool  // macros are recorded already
	bodyBrace    int   // offset of the "{" of the skipped body, or before the declaration of a value
	openScopes   int32 // number of open scopes or blocks, except transparent ones
	templateHole bool  // a template literal stopped at "${"
	endedAt      int   // a comment at this offset has ended the statement before it
	noRegexpTil  int   // no regular expression ends before this offset
	noAngleTil   int   // no type arguments end before this offset

	prev token // last token, for grammars that need it
	// holes means that the scanner stops in literals at the expressions inside them and
	// stores these literals in literals. Otherwise it skips the expressions, at most
	// maxLiteralDepth deep.
	holes        bool
	literals     []openLiteral
	literalDepth int
	// heredocs are the terminators of the heredocs that begin after this line.
	heredocs []heredoc
}

// stepsPerClock is the number of tokens between two checks of the deadline.
const stepsPerClock = 2048

// countStep counts a step, and ends the text early after the deadline.
func (s *scanner) countStep() {
	s.steps++
	if s.steps%stepsPerClock == 0 && !s.deadline.IsZero() && time.Now().After(s.deadline) {
		*s.timedOut = true
		s.pos = len(s.src)
	}
}

// next returns the next token that is not trivia.
func (s *scanner) next() token {
	t := s.scanToken()
	t.newline = s.newline
	s.newline = false
	s.prev = t
	return t
}

func (s *scanner) scanToken() token {
	s.countStep()
	src, class := s.src, &s.lex.class
	for s.pos < len(src) {
		c := src[s.pos]
		switch class[c] {
		case classSpace:
			s.pos++
		case classNewline:
			s.newline = true
			s.pos++
			if len(s.heredocs) > 0 {
				s.skipHeredocs()
			}
		case classWord:
			return s.scanWord()
		case classColumn:
			if !s.columnComment(c) {
				return s.scanWord()
			}
		case classDigit:
			return s.scanNumber()
		case classSpecial:
			if t := s.lex.special(s, c); t.kind != tokNone {
				return t
			}
		default:
			s.pos++
			return token{shape: shape{kind: tokPunct, ch: c}, start: int32(s.pos - 1), end: int32(s.pos)}
		}
	}
	return token{shape: shape{kind: tokEOF}, start: int32(len(src)), end: int32(len(src))}
}

func (s *scanner) scanWord() token {
	src, class := s.src, &s.lex.class
	start, pos := s.pos, s.pos+1
	for pos < len(src) && class[src[pos]] >= classWord {
		pos++
	}
	if s.lex.irregularWords {
		return s.irregularWord(start, pos)
	}
	s.pos = pos
	return token{shape: shape{kind: tokWord, word: s.lex.words.lookupWord(src[start:pos])}, start: int32(start), end: int32(pos)}
}

// irregularWord reads the word of a table language from start to pos, if words may have
// suffixes, begin a literal, or be case-insensitive.
func (s *scanner) irregularWord(start, pos int) token {
	src := s.src
	if s.lex.escapes {
		pos = s.escapedEnd(start)
	}
	for pos < len(src) && s.lex.suffix[src[pos]] && (pos+1 >= len(src) || src[pos+1] != '=') {
		pos++
	}
	s.pos = pos
	if s.lex.quoteWords != nil && pos-start <= 2 && s.lex.quoteWords[string(src[start:pos])] {
		if t := s.quoteWord(start); t.kind != tokNone {
			return t
		}
	}
	t := token{shape: shape{kind: tokWord}, start: int32(start), end: int32(pos)}
	if s.lex.words.fold {
		t.word = s.lex.words.lookupFold(src[start:pos])
	} else {
		t.word = s.lex.words.lookupWord(src[start:pos])
	}
	return t
}

// maxEscapeDigits bounds the digits of an escape in a style sheet.
const maxEscapeDigits = 6

// escapedEnd returns the end of the word at start, which may contain escapes.
func (s *scanner) escapedEnd(start int) int {
	src, class, pos := s.src, &s.lex.class, start
	for pos < len(src) && class[src[pos]] >= classWord {
		if src[pos] != '\\' {
			pos++
			continue
		}
		pos++
		digits := 0
		for pos < len(src) && digits < maxEscapeDigits && isHexDigit(src[pos]) {
			pos++
			digits++
		}
		switch {
		case digits > 0:
			if pos+1 < len(src) && src[pos] == ' ' && class[src[pos+1]] >= classWord {
				pos++
			}
		case pos < len(src) && src[pos] != '\n' && src[pos] != '\r':
			pos++ // further bytes of a non-ASCII character continue the word
		default: // a backslash that escapes nothing
			return max(pos-1, start+1)
		}
	}
	return pos
}

func isHexDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// scanNumber reads a numeric literal roughly: letters, digits, and a point or an
// apostrophe between them. The sign of an exponent becomes a separate token.
func (s *scanner) scanNumber() token {
	src, class := s.src, &s.lex.class
	start, pos := s.pos, s.pos+1
	for pos < len(src) {
		c := src[pos]
		between := (c == '.' || c == '\'') && pos+1 < len(src) && class[src[pos+1]] == classDigit
		if class[c] < classWord && !between {
			break
		}
		pos++
	}
	s.pos = pos
	return token{shape: shape{kind: tokNumber}, start: int32(start), end: int32(pos)}
}

// punctToken consumes n bytes as one punctuation token named by the first byte.
func (s *scanner) punctToken(n int) token {
	start := s.pos
	s.pos += n
	return token{shape: shape{kind: tokPunct, ch: s.src[start]}, start: int32(start), end: int32(s.pos)}
}

// literalToken returns the string token from start to the current position.
func (s *scanner) literalToken(start int) token {
	return token{shape: shape{kind: tokString}, start: int32(start), end: int32(s.pos)}
}

// peekByte returns the byte n positions after the current one, or 0 past the end.
func (s *scanner) peekByte(n int) byte {
	if s.pos+n < len(s.src) {
		return s.src[s.pos+n]
	}
	return 0
}

// skipGroup moves past the bracket that closes the group whose opening bracket has just
// been read. It checks only those brackets and special bytes.
func (s *scanner) skipGroup(open byte) {
	stop, closing := &s.lex.brace, byte('}')
	switch open {
	case '(':
		stop, closing = &s.lex.paren, ')'
	case '[':
		stop, closing = &s.lex.bracket, ']'
	}
	depth, serial := s.skipDepth, s.skipSerial
	s.skips++
	s.skipDepth, s.skipSerial = 1, s.skips
	s.skipWithin(stop, open, closing)
	s.skipDepth, s.skipSerial = depth, serial
}

func (s *scanner) skipWithin(stop *[256]bool, open, closing byte) {
	src := s.src
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
		case c == open:
			if s.skipDepth <= s.noteDepth {
				if from := s.lex.nested(s, pos); from >= 0 {
					s.nested = append(s.nested, nestedBrace{int32(from), int32(pos)})
				}
			}
			s.skipDepth++
			s.pos++
		case c == closing:
			s.skipDepth--
			s.pos++
			if s.skipDepth <= 0 {
				return
			}
		default:
			s.countStep()
			s.lex.special(s, c)
		}
	}
}

// groupToken skips the group that open begins, and returns it as one token.
func (s *scanner) groupToken(open token) token {
	s.skipGroup(open.ch)
	open.kind = tokGroup
	open.end = int32(s.pos)
	return open
}

// skipLine moves to the line break that ends the current line, or to the end.
func (s *scanner) skipLine() {
	if i := bytes.IndexByte(s.src[s.pos:], '\n'); i >= 0 {
		s.pos += i
	} else {
		s.pos = len(s.src)
	}
}

var endOfComment = []byte("*/")

// skipBlockComment moves past the comment with a two-byte opening at s.pos that ends with
// "*/".
func (s *scanner) skipBlockComment() {
	body := s.src[s.pos+2:]
	i := bytes.Index(body, endOfComment)
	if i < 0 {
		s.pos = len(s.src)
		return
	}
	if !s.newline && s.skipSerial == 0 {
		s.newline = bytes.IndexByte(body[:i], '\n') >= 0
	}
	s.pos += 2 + i + len(endOfComment)
}

// skipNestedComment moves past a comment that may contain nested comments.
func (s *scanner) skipNestedComment() {
	depth := 0
	for s.pos < len(s.src) {
		switch {
		case s.src[s.pos] == '/' && s.peekByte(1) == '*':
			depth++
			s.pos += 2
		case s.src[s.pos] == '*' && s.peekByte(1) == '/':
			depth--
			s.pos += 2
			if depth == 0 {
				return
			}
		default:
			s.pos++
		}
	}
}

// slashComment reads a // or /* comment at s.pos, or else one byte of punctuation.
func (s *scanner) slashComment() token {
	switch s.peekByte(1) {
	case '/':
		s.skipLine()
	case '*':
		s.skipBlockComment()
	default:
		return s.punctToken(1)
	}
	return token{}
}

// scanQuoted reads a literal that ends at the same quote, with backslash escapes. Unless
// multiline is set, it ends at an unescaped line break.
func (s *scanner) scanQuoted(quote byte, multiline bool) token {
	start, src := s.pos, s.src
	pos := start + 1
	for pos < len(src) {
		switch c := src[pos]; {
		case c == quote:
			s.pos = pos + 1
			return s.literalToken(start)
		case c == '\\':
			pos++
			if pos < len(src) && src[pos] == '\r' {
				pos++
			}
		case c == '\n' && !multiline:
			s.pos = pos
			return s.literalToken(start)
		}
		pos++
	}
	s.pos = len(src)
	return s.literalToken(start)
}

// scanUntil reads a literal from start to the given end bytes, which it searches from
// offset from on.
func (s *scanner) scanUntil(start, from int, end string) token {
	from = min(from, len(s.src))
	if i := bytes.Index(s.src[from:], []byte(end)); i >= 0 {
		s.pos = from + i + len(end)
	} else {
		s.pos = len(s.src)
	}
	return s.literalToken(start)
}

// hasPrefix reports whether the text at s.pos begins with prefix.
func (s *scanner) hasPrefix(prefix string) bool {
	return len(s.src)-s.pos >= len(prefix) && string(s.src[s.pos:s.pos+len(prefix)]) == prefix
}

// tokenText returns the bytes of t.
func (s *scanner) tokenText(t token) []byte { return s.src[t.start:t.end] }

// firstOnLine reports whether only blanks precede offset pos on its line.
func (s *scanner) firstOnLine(pos int) bool {
	for pos--; pos >= 0; pos-- {
		switch s.src[pos] {
		case '\n':
			return true
		case ' ', '\t', '\r', '\f', '\v':
		default:
			return false
		}
	}
	return true
}
