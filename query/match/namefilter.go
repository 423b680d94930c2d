package match

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// nameFilter returns a function that reports whether re, compiled from a pattern of repo:,
// matches the name of a repository. Nearly all patterns are literals with or without anchors, for
// which package regexp is slow if case is ignored: a query with several thousand repositories
// would spend most of its time there.
func nameFilter(re *regexp.Regexp, pattern string, isFolded bool) func(name string) bool {
	literal, isStart, isEnd, ok := parseNameLiteral(pattern)
	if !ok {
		return re.MatchString
	}
	equal := func(a, b string) bool { return a == b }
	if isFolded {
		equal = strings.EqualFold
	}
	n := len(literal)
	contains := func(name string) bool {
		for i := 0; i+n <= len(name); i++ {
			if c := name[i] ^ literal[0]; (c == 0 || c == 'a'-'A') && equal(name[i:i+n], literal) {
				return true
			}
		}
		return false
	}
	return func(name string) bool {
		for i := range len(name) {
			if name[i] >= utf8.RuneSelf {
				return re.MatchString(name) // its letters may fold to those of the literal
			}
		}
		switch {
		case len(name) < n:
			return false
		case isStart && isEnd:
			return equal(name, literal)
		case isStart:
			return equal(name[:n], literal)
		case isEnd:
			return equal(name[len(name)-n:], literal)
		}
		return contains(name)
	}
}

// parseNameLiteral returns the ASCII literal of a pattern that consists of one and of anchors at
// the start and the end of the name.
func parseNameLiteral(pattern string) (literal string, isStart, isEnd, ok bool) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false, false, false
	}
	parts := []*syntax.Regexp{tree}
	if tree.Op == syntax.OpConcat {
		parts = tree.Sub
	}
	if parts[0].Op == syntax.OpBeginText {
		isStart, parts = true, parts[1:]
	}
	if n := len(parts); n > 0 && parts[n-1].Op == syntax.OpEndText {
		isEnd, parts = true, parts[:n-1]
	}
	if len(parts) != 1 || parts[0].Op != syntax.OpLiteral || parts[0].Flags&syntax.FoldCase != 0 {
		return "", false, false, false
	}
	literal = string(parts[0].Rune)
	for i := range len(literal) {
		if literal[i] >= utf8.RuneSelf {
			return "", false, false, false
		}
	}
	return literal, isStart, isEnd, true
}
