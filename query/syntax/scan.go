package syntax

import "strings"

// scanner finds the ends of tokens. It looks ahead for closing brackets, so its work is
// counted: when the budget is spent, or brackets nest deeper than MaxDepth, it reports
// every bracket as not closed and the parser stops.
type scanner struct {
	text         string
	regexp       bool // words are regular expressions
	scannedBytes int  // bytes read
	tooDeepAt    int  // where nesting exceeded MaxDepth; -1 if nowhere
}

func newScanner(text string, regexp bool) scanner {
	return scanner{text: text, regexp: regexp, tooDeepAt: -1}
}

func (s *scanner) isExhausted() bool { return s.scannedBytes > maxScanBytes }

// isBlank reports whether c separates tokens.
func isBlank(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func (s *scanner) skipBlanks(i, end int) int {
	for i < end && isBlank(s.text[i]) {
		i++
	}
	return i
}

// endsToken reports whether a token can end before i.
func (s *scanner) endsToken(i, end int) bool { return i == end || isBlank(s.text[i]) }

// quoteEnd returns the position after the quote that closes the one at i, or -1.
func (s *scanner) quoteEnd(i, end int) int {
	for j := i + 1; j < end; j++ {
		switch s.text[j] {
		case '\\':
			j++
		case '"':
			s.scannedBytes += j - i
			return j + 1
		}
	}
	s.scannedBytes += end - i
	return -1
}

// quotedToken returns the end of the quoted string at i if the string is the whole token and not empty, or -1.
func (s *scanner) quotedToken(i, end int) int {
	close := s.quoteEnd(i, end)
	if close < 0 || close == i+2 || !s.endsToken(close, end) {
		return -1
	}
	return close
}

// wordEnd returns the end of the word at i, a term in the mode of the request.
func (s *scanner) wordEnd(i, end int) int {
	if s.regexp {
		return s.regexpEnd(i, end, false)
	}
	return s.runEnd(i, end)
}

// runEnd returns the end of the run of non-blank characters at i.
func (s *scanner) runEnd(i, end int) int {
	for i < end && !isBlank(s.text[i]) {
		i++
	}
	return i
}

// regexpEnd returns the end of the regular expression at i. A blank ends it, unless it is
// escaped, in a class or in parentheses: cut there, the expression would be broken. In a
// group, a parenthesis that closes nothing in the expression ends it, too.
func (s *scanner) regexpEnd(i, end int, inGroup bool) int {
	for i < end {
		switch c := s.text[i]; {
		case isBlank(c), c == ')' && inGroup:
			return i
		case c == '(':
			i = s.regexpParenEnd(i, end)
		default:
			i = s.regexpAtomEnd(i, end)
		}
		if s.isExhausted() {
			return end
		}
	}
	return i
}

// regexpParenEnd returns the position after the parenthesis that closes the one at i, or
// i+1 if none does.
func (s *scanner) regexpParenEnd(i, end int) int {
	depth := 0
	for j := i; j < end && !s.isExhausted(); {
		switch s.text[j] {
		case '(':
			depth++
			j++
		case ')':
			depth--
			j++
		default:
			j = s.regexpAtomEnd(j, end)
		}
		if depth == 0 {
			s.scannedBytes += j - i
			return j
		}
	}
	s.scannedBytes += end - i
	return i + 1
}

// regexpAtomEnd returns the end of the escape, the class or the single byte at i.
func (s *scanner) regexpAtomEnd(i, end int) int {
	switch s.text[i] {
	case '\\':
		return s.escapeEnd(i, end)
	case '[':
		return s.classEnd(i, end)
	}
	return i + 1
}

// escapeEnd returns the end of the escape at i; \Q extends to its \E, if it has one.
func (s *scanner) escapeEnd(i, end int) int {
	if strings.HasPrefix(s.text[i:end], `\Q`) {
		n := strings.Index(s.text[i:end], `\E`)
		if n >= 0 {
			s.scannedBytes += n
			return i + n + 2
		}
		s.scannedBytes += end - i
	}
	return min(i+2, end)
}

// classEnd returns the end of the class at i, or i+1 if it is not closed.
func (s *scanner) classEnd(i, end int) int {
	j := i + 1
	if j < end && s.text[j] == '^' {
		j++
	}
	if j < end && s.text[j] == ']' {
		j++ // the first bracket in a class is literal
	}
	for j < end {
		switch {
		case s.text[j] == ']':
			s.scannedBytes += j - i
			return j + 1
		case s.text[j] == '\\':
			j += 2
		case strings.HasPrefix(s.text[j:end], "[:"):
			j = s.namedClassEnd(j, end)
		default:
			j++
		}
	}
	s.scannedBytes += end - i
	return i + 1
}

// namedClassEnd returns the end of a [:name:] at i, or i+1. Names are short, so it does
// not look further.
func (s *scanner) namedClassEnd(i, end int) int {
	const longest = len("[:^xdigit:]")
	if n := strings.Index(s.text[i:min(end, i+longest)], ":]"); n > 0 {
		return i + n + 2
	}
	return i + 1
}

// groupClose returns the position of the parenthesis that closes the one at i, which
// begins a token, or -1. It ignores quoted tokens and, where a token is a regular
// expression, escaped characters and classes.
func (s *scanner) groupClose(i, end int) int {
	depth, start := 0, true // start: a token may begin here
	from := i
	for i < end && !s.isExhausted() {
		switch c := s.text[i]; {
		case isBlank(c):
			start = true
			i++
		case start && c == '-' && i+1 < end && s.text[i+1] == '(':
			i++
		case c == '(' && (start || !s.regexp):
			depth++
			i++
		case c == ')':
			depth--
			i++
			start = false
		case start:
			i = s.skipHead(i, end)
			start = false
		case s.regexp:
			i = s.regexpEnd(i, end, true)
		default:
			i++
		}
		if depth > MaxDepth {
			s.tooDeepAt = i - 1
			return -1
		}
		if depth == 0 {
			s.scannedBytes += i - from
			return i - 1
		}
	}
	s.scannedBytes += end - from
	return -1
}

// skipHead skips the special beginning of a token within a group: a minus, a keyword, a
// quoted string, a regular expression. It may stop in the middle of the token, but always
// advances.
func (s *scanner) skipHead(i, end int) int {
	from := i
	if s.text[i] == '-' && i+1 < end {
		i++
	}
	f, value := s.filterAt(i, end)
	if f != nil {
		i = value
	}
	if s.text[i] == '"' {
		if close := s.quoteEnd(i, end); close > i+2 && (s.endsToken(close, end) || s.text[close] == ')') {
			return close
		}
	}
	if f == nil && s.regexp || f != nil && f.isRegexp(s.regexp) {
		i = s.regexpEnd(i, end, true)
	}
	if i == from {
		return i + 1
	}
	return i
}
