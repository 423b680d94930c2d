package outline

import "bytes"

// heredocMark reads the start of a heredoc (<<NAME, <<~NAME, <<-"NAME"), or else "<".
// While a body is skipped, it skips the heredoc immediately.
func (s *scanner) heredocMark() token {
	start := s.pos
	if s.peekByte(1) != '<' {
		return s.punctToken(1)
	}
	i := start + 2
	indented := i < len(s.src) && (s.src[i] == '-' || s.src[i] == '~')
	if indented {
		i++
	}
	quote := byte(0)
	if i < len(s.src) && (s.src[i] == '"' || s.src[i] == '\'') {
		quote = s.src[i]
		i++
	}
	from := i
	for i < len(s.src) && s.lex.class[s.src[i]] >= classWord {
		i++
	}
	if i == from || s.lex.class[s.src[from]] == classDigit {
		return s.punctToken(1)
	}
	name := s.src[from:i]
	if quote != 0 && i < len(s.src) && s.src[i] == quote {
		i++
	}
	s.pos = i
	if s.skipSerial == 0 {
		s.addHeredoc(name, indented)
		return s.literalToken(start)
	}
	s.skipLine()
	s.pos = min(s.pos+1, len(s.src))
	s.skipHeredoc(heredoc{name, indented})
	return s.literalToken(start)
}

// scanSigil reads an Elixir sigil: ~s(…), ~r/…/i, ~S"""…""".
func (s *scanner) scanSigil() token {
	start := s.pos
	i := start + 1
	for i < len(s.src) && isLetter(s.src[i]) && i < start+maxEscape {
		i++
	}
	if i >= len(s.src) {
		return s.punctToken(1)
	}
	open := s.src[i]
	if three := []byte{open, open, open}; (open == '"' || open == '\'') && bytes.HasPrefix(s.src[i:], three) {
		return s.scanUntil(start, i+3, string(three))
	}
	closing := closingDelimiter(open)
	if closing == 0 || bytes.IndexByte([]byte("/|\"'([{<"), open) < 0 {
		return s.punctToken(1)
	}
	s.pos = i + 1
	s.skipDelimited(open, closing)
	return s.literalToken(start)
}

// quoteWord reads the Perl literal that begins with the word from start to s.pos: q{…},
// qw(…), m/…/, s/…/…/. It returns tokNone if there is none.
func (s *scanner) quoteWord(start int) token {
	word := s.src[start:s.pos]
	if start > 0 && bytes.IndexByte([]byte("$@%&>:{-"), s.src[start-1]) >= 0 {
		return token{} // a variable, a method or a key
	}
	i := s.pos
	for i < len(s.src) && (s.src[i] == ' ' || s.src[i] == '\t') {
		i++
	}
	if i >= len(s.src) {
		return token{}
	}
	open := s.src[i]
	closing := closingDelimiter(open)
	blank := i > s.pos
	if closing == 0 || open == '=' && (blank || s.peekByte(1) == '>') || open == ',' || open == ';' || open == ')' || open == '}' || open == '#' && blank {
		return token{}
	}
	s.pos = i + 1
	s.skipDelimited(open, closing)
	if w := string(word); w == "s" || w == "tr" || w == "y" {
		if open != closing {
			for s.pos < len(s.src) && isBlank(s.src[s.pos]) {
				s.pos++
			}
			if s.pos >= len(s.src) || closingDelimiter(s.src[s.pos]) == 0 {
				return s.literalToken(start)
			}
			open, closing = s.src[s.pos], closingDelimiter(s.src[s.pos])
			s.pos++
		}
		s.skipDelimited(open, closing)
	}
	return s.literalToken(start)
}

// closingDelimiter returns the delimiter that ends a literal opened by c, or 0 if c
// cannot open one.
func closingDelimiter(c byte) byte {
	switch c {
	case '(':
		return ')'
	case '[':
		return ']'
	case '{':
		return '}'
	case '<':
		return '>'
	}
	if c <= ' ' || c >= 0x7f || isLetter(c) || c >= '0' && c <= '9' || c == '_' {
		return 0
	}
	return c
}

// skipDelimited skips the rest of a literal up to its closing delimiter. Brackets nest,
// and a backslash escapes the next byte.
func (s *scanner) skipDelimited(open, closing byte) {
	depth := 1
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		s.pos++
		switch {
		case c == '\\':
			s.pos = min(s.pos+1, len(s.src))
		case c == closing:
			if depth--; depth == 0 {
				return
			}
		case c == open:
			depth++
		}
	}
}

// beforeValue are words after which "/" begins a literal.
var beforeValue = map[string]bool{
	"and": true, "cmp": true, "eq": true, "grep": true, "if": true, "map": true, "ne": true, "not": true, "or": true,
	"return": true, "split": true, "unless": true, "until": true, "when": true, "while": true, "xor": true,
}

// slashLiteral reads /…/ on one line where a value may begin, or else "/".
func (s *scanner) slashLiteral() token {
	start := s.pos
	if start < s.noRegexpTil || !s.valueMayFollow() {
		return s.punctToken(1)
	}
	limit := min(len(s.src), start+maxRegexp)
	for i := start + 1; i < limit; i++ {
		switch s.src[i] {
		case '\n':
			s.noRegexpTil = i
			return s.punctToken(1)
		case '\\':
			i++
		case '/':
			s.pos = i + 1
			return s.literalToken(start)
		}
	}
	s.noRegexpTil = limit
	return s.punctToken(1)
}

// valueMayFollow reports whether a value may begin at s.pos, judging by the text before
// it on the line.
func (s *scanner) valueMayFollow() bool {
	end := s.pos
	for end > 0 && s.pos-end < maxRegexp && (s.src[end-1] == ' ' || s.src[end-1] == '\t') {
		end--
	}
	if end == 0 {
		return true
	}
	switch c := s.src[end-1]; {
	case bytes.IndexByte([]byte("(,=~!&|{;?:\n"), c) >= 0:
		return true
	case !isLetter(c):
		return false
	}
	from := end
	for from > 0 && end-from <= maxFoldedWord && isLetter(s.src[from-1]) {
		from--
	}
	return beforeValue[string(s.src[from:end])] && (from == 0 || s.src[from-1] != '$' && s.src[from-1] != '@' && s.src[from-1] != '%')
}
