package syntax

import (
	"errors"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// RegexpFlags are the flags for parsing regular expressions of a query: Go's RE2 syntax,
// with ^ and $ at line ends.
const RegexpFlags = syntax.Perl &^ syntax.OneLine

// maxErrorCandidates bounds the places tried to locate an error in a regular expression.
const maxErrorCandidates = 64

// regexpFault describes a broken regular expression: what is wrong, where in the pattern,
// and what to do.
type regexpFault struct {
	message  string
	position int
	advice   string
}

// regexpSize checks pattern and counts the instructions it compiles to. It stops counting
// soon after limit.
func regexpSize(pattern string, limit int) (int, *regexpFault) {
	re, err := syntax.Parse(pattern, RegexpFlags)
	if err == nil {
		return countInstructions(re, limit), nil
	}
	var e *syntax.Error
	if !errors.As(err, &e) {
		return 0, &regexpFault{message: err.Error(), advice: adviceEscape}
	}
	return 0, &regexpFault{
		message:  faultMessage(e),
		position: faultPosition(pattern, e),
		advice:   regexpAdvice(e),
	}
}

// countInstructions counts the instructions that re compiles to, and stops counting
// beyond limit. It walks the tree before repetitions are unrolled, so a small pattern
// that expands into a huge program costs nothing.
func countInstructions(re *syntax.Regexp, limit int) int {
	n := 0
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpRepeat:
		times := max(re.Max, re.Min+1, 1)
		return min(times*(countInstructions(re.Sub[0], limit)+1), limit+1)
	default:
		n = 1 + len(re.Sub)
	}
	for _, sub := range re.Sub {
		n += countInstructions(sub, limit)
		if n > limit {
			return limit + 1
		}
	}
	return n
}

func faultMessage(e *syntax.Error) string {
	switch e.Code {
	case syntax.ErrMissingParen, syntax.ErrUnexpectedParen, syntax.ErrTrailingBackslash,
		syntax.ErrNestingDepth, syntax.ErrLarge, syntax.ErrInvalidUTF8:
		return "bad regular expression: " + e.Code.String()
	}
	return "bad regular expression: " + e.Code.String() + " " + shortenPattern(e.Expr)
}

// shortenPattern truncates a pattern for a message.
func shortenPattern(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

// faultPosition locates a fault; the standard library does not report its position.
func faultPosition(pattern string, e *syntax.Error) int {
	switch e.Code {
	case syntax.ErrMissingParen, syntax.ErrUnexpectedParen:
		return unbalancedParen(pattern)
	case syntax.ErrMissingBracket:
		return len(pattern) - len(e.Expr)
	case syntax.ErrTrailingBackslash:
		return max(len(pattern)-1, 0)
	case syntax.ErrNestingDepth, syntax.ErrLarge:
		return 0
	}
	return faultFragment(pattern, e)
}

// faultFragment finds the first occurrence of the fragment e.Expr whose end causes the
// same fault. The parser works from left to right, so that occurrence is the one at
// fault.
func faultFragment(pattern string, e *syntax.Error) int {
	first, from := -1, 0
	for range maxErrorCandidates {
		n := strings.Index(pattern[from:], e.Expr)
		if n < 0 {
			break
		}
		at := from + n
		if first < 0 {
			first = at
		}
		var other *syntax.Error
		_, err := syntax.Parse(pattern[:at+len(e.Expr)], RegexpFlags)
		if errors.As(err, &other) && other.Code == e.Code && other.Expr == e.Expr {
			return at
		}
		from = at + max(len(e.Expr), 1)
		if from > len(pattern) {
			break
		}
	}
	return max(first, 0)
}

// unbalancedParen returns the position of an unmatched parenthesis: the first that closes
// nothing, or else the last that is not closed.
func unbalancedParen(pattern string) int {
	s := newScanner(pattern, true)
	var open []int
	for i := 0; i < len(pattern) && !s.isExhausted(); {
		switch pattern[i] {
		case '(':
			open = append(open, i)
		case ')':
			if len(open) == 0 {
				return i
			}
			open = open[:len(open)-1]
		}
		i = s.regexpAtomEnd(i, len(pattern))
	}
	if len(open) == 0 {
		return 0
	}
	return open[len(open)-1]
}

// isBalanced reports whether the scanner sees every class and parenthesis of a pattern as
// closed, regardless of what surrounds the pattern.
func isBalanced(pattern string) bool {
	s := newScanner(pattern, true)
	depth := 0
	for i := 0; i < len(pattern); {
		next := s.regexpAtomEnd(i, len(pattern))
		switch c := pattern[i]; {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '[' && next == i+1, strings.HasPrefix(pattern[i:], `\Q`):
			return false
		}
		if depth < 0 || s.isExhausted() {
			return false
		}
		i = next
	}
	return depth == 0
}

// hasUpper reports whether a pattern has an upper-case letter that must match: letters of
// escapes, flags and group names do not count.
func hasUpper(pattern string, isRegexp bool) bool {
	for i := 0; i < len(pattern); {
		if isRegexp {
			if n := syntaxLetters(pattern[i:]); n > 0 {
				i += n
				continue
			}
		}
		r, size := utf8.DecodeRuneInString(pattern[i:])
		if unicode.IsUpper(r) {
			return true
		}
		i += size
	}
	return false
}

// syntaxLetters returns how many bytes at the beginning of a pattern are syntax that
// contains letters.
func syntaxLetters(s string) int {
	switch {
	case strings.HasPrefix(s, `\p{`), strings.HasPrefix(s, `\P{`), strings.HasPrefix(s, `\x{`):
		return strings.IndexByte(s, '}') + 1
	case strings.HasPrefix(s, `\p`), strings.HasPrefix(s, `\P`):
		return min(3, len(s))
	case strings.HasPrefix(s, `\x`):
		return min(4, len(s))
	case strings.HasPrefix(s, `\`):
		return min(2, len(s))
	case strings.HasPrefix(s, "(?P<"), strings.HasPrefix(s, "(?<"):
		return strings.IndexByte(s, '>') + 1
	case strings.HasPrefix(s, "(?"):
		return strings.IndexAny(s, ":)") + 1
	}
	return 0
}

// unicodeClasses counts the escapes of a pattern that expand to Unicode tables.
func unicodeClasses(pattern string) int {
	return strings.Count(pattern, `\p`) + strings.Count(pattern, `\P`)
}
