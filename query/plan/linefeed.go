package plan

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// namesLineFeed reports whether a pattern names a line feed explicitly: as a character,
// alone or in a class that is not negated, or by a dot under (?s). Classes such as \s,
// [^x] or both sides of a|[^a] together only contain one implicitly.
func namesLineFeed(expression string, tree *syntax.Regexp) bool {
	return namesRune(tree, '\n') || hasOp(tree, syntax.OpCharClass, syntax.OpAnyChar) && writesLineFeed(expression)
}

// writesLineFeed reports whether a class of a valid expression names the line feed, or a
// group sets the flag s.
func writesLineFeed(expression string) bool {
	within, negated := false, false
	for rest := expression; rest != ""; {
		size, lineFeed := characterAt(rest)
		switch {
		case lineFeed && within && !negated:
			return true
		case within && rest[0] == ']':
			within = false
		case within && strings.HasPrefix(rest, "[:"):
			size = max(strings.Index(rest, ":]")+len(":]"), size)
		case !within && strings.HasPrefix(rest, "(?"):
			flags := strings.TrimLeft(rest[len("(?"):], "imU")
			if strings.HasPrefix(flags, "s") {
				return true
			}
		case !within && rest[0] == '[':
			within, negated = true, strings.HasPrefix(rest, "[^")
			size = classHead(rest)
		}
		rest = rest[size:]
	}
	return false
}

// Path returns the Pattern of a regular expression on paths. A line feed in a path is
// written as NUL in the table of places, which has one path per line, so each character of
// the expression that is a line feed becomes a NUL.
func Path(expression string, fold bool) (*Pattern, error) {
	var b strings.Builder
	for rest := expression; rest != ""; {
		size, lineFeed := characterAt(rest)
		if lineFeed {
			b.WriteString(`\x00`)
		} else {
			b.WriteString(rest[:size])
		}
		rest = rest[size:]
	}
	return Regexp(b.String(), fold)
}

// classHead returns the length of the beginning of a class: [ or [^, and a ] right after
// it, which is literal there.
func classHead(rest string) int {
	size := 1
	if strings.HasPrefix(rest, "[^") {
		size++
	}
	if strings.HasPrefix(rest[size:], "]") {
		size++
	}
	return size
}

// lineFeeds are the ways to write a line feed.
var lineFeeds = []string{"\n", `\n`, `\x0a`, `\x0A`, `\012`}

// characterAt returns the length of the character at the beginning of an expression, as
// it is written, and whether it is a line feed.
func characterAt(rest string) (size int, lineFeed bool) {
	for _, s := range lineFeeds {
		if strings.HasPrefix(rest, s) {
			return len(s), true
		}
	}
	switch {
	case strings.HasPrefix(rest, `\Q`):
		if n := strings.Index(rest, `\E`); n >= 0 {
			return n + len(`\E`), false
		}
		return len(rest), false
	case strings.HasPrefix(rest, `\x{`):
		n := strings.IndexByte(rest, '}')
		digits := strings.TrimLeft(rest[len(`\x{`):max(n, len(`\x{`))], "0")
		return max(n+1, 1), digits == "a" || digits == "A"
	case rest[0] == '\\' && len(rest) > 1:
		_, size = utf8.DecodeRuneInString(rest[1:])
		return 1 + size, false
	}
	_, size = utf8.DecodeRuneInString(rest)
	return size, false
}

// maxLineFeeds bounds the line feeds of a literal that become alternatives: each doubles
// the number of literals.
const maxLineFeeds = 2

// relaxLineFeeds returns a tree that matches the texts of re with each line feed as a line
// feed or as a carriage return and line feed. Where it would have too many literals, it
// matches more.
func relaxLineFeeds(re *syntax.Regexp) *syntax.Regexp {
	return replaceNodes(re, func(re *syntax.Regexp) *syntax.Regexp {
		switch {
		case re.Op == syntax.OpCharClass && inClass(re.Rune, '\n'):
			return &syntax.Regexp{Op: syntax.OpAnyChar}
		case re.Op != syntax.OpLiteral:
			return re
		}
		lineEnd := &syntax.Regexp{Op: syntax.OpAnyChar}
		if strings.Count(string(re.Rune), "\n") <= maxLineFeeds {
			with := func(r ...rune) *syntax.Regexp { return &syntax.Regexp{Op: syntax.OpLiteral, Rune: r} }
			lineEnd = &syntax.Regexp{Op: syntax.OpAlternate, Sub: []*syntax.Regexp{with('\n'), with('\r', '\n')}}
		}
		return replaceRune(re, '\n', lineEnd)
	})
}

// relaxInvalid returns a tree that matches at least what re matches: where a literal names
// U+FFFD, which also represents bytes that are not UTF-8, it matches anything. classOf and
// findRun handle U+FFFD in a class.
func relaxInvalid(re *syntax.Regexp) *syntax.Regexp {
	return replaceNodes(re, func(re *syntax.Regexp) *syntax.Regexp {
		if re.Op != syntax.OpLiteral {
			return re
		}
		return replaceRune(re, utf8.RuneError, &syntax.Regexp{Op: syntax.OpAnyChar})
	})
}

// replaceNodes returns a copy of a tree with each node without children replaced.
func replaceNodes(re *syntax.Regexp, replace func(*syntax.Regexp) *syntax.Regexp) *syntax.Regexp {
	if len(re.Sub) == 0 {
		return replace(re)
	}
	out := *re
	out.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		out.Sub[i] = replaceNodes(sub, replace)
	}
	return &out
}

// inClass reports whether r is in one of the ranges (pairs of bounds).
func inClass(ranges []rune, r rune) bool {
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i] <= r && r <= ranges[i+1] {
			return true
		}
	}
	return false
}

// replaceRune returns a tree that matches a literal with r replaced.
func replaceRune(literal *syntax.Regexp, r rune, with *syntax.Regexp) *syntax.Regexp {
	if !slices.Contains(literal.Rune, r) {
		return literal
	}
	out := &syntax.Regexp{Op: syntax.OpConcat}
	for rest := literal.Rune; len(rest) > 0; {
		n := slices.Index(rest, r)
		if n == 0 {
			out.Sub = append(out.Sub, with)
			rest = rest[1:]
			continue
		}
		if n < 0 {
			n = len(rest)
		}
		out.Sub = append(out.Sub, &syntax.Regexp{Op: syntax.OpLiteral, Flags: literal.Flags, Rune: rest[:n]})
		rest = rest[n:]
	}
	return out
}
