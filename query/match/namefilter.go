package match

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// nameFilter returns a function that reports whether re, the expression of repo:, matches the
// name of a repository. Nearly all patterns are literals with or without anchors, for
// which package regexp is slow if case is ignored: a query with several thousand repositories
// would spend most of its time there.
func nameFilter(re *regexp.Regexp) func(name string) bool {
	l := parseNameLiteral(re.String())
	if l == nil {
		return re.MatchString
	}
	equal := func(a, b string) bool { return a == b }
	if l.isFolded {
		equal = strings.EqualFold
	}
	literal, n := l.text, len(l.text)
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
		case l.isStart && l.isEnd:
			return equal(name, literal)
		case l.isStart:
			return equal(name[:n], literal)
		case l.isEnd:
			return equal(name[len(name)-n:], literal)
		}
		return contains(name)
	}
}

// A nameLiteral is an expression that consists of ASCII text and of anchors at the start and
// the end of the name.
type nameLiteral struct {
	text                     string
	isStart, isEnd, isFolded bool
}

// parseNameLiteral returns an expression as a literal, or nil if it is none.
func parseNameLiteral(expression string) *nameLiteral {
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil
	}
	l := &nameLiteral{}
	parts := []*syntax.Regexp{tree}
	if tree.Op == syntax.OpConcat {
		parts = tree.Sub
	}
	if parts[0].Op == syntax.OpBeginText {
		l.isStart, parts = true, parts[1:]
	}
	if n := len(parts); n > 0 && parts[n-1].Op == syntax.OpEndText {
		l.isEnd, parts = true, parts[:n-1]
	}
	if len(parts) != 1 || parts[0].Op != syntax.OpLiteral {
		return nil
	}
	l.text, l.isFolded = string(parts[0].Rune), parts[0].Flags&syntax.FoldCase != 0
	for i := range len(l.text) {
		if l.text[i] >= utf8.RuneSelf {
			return nil
		}
	}
	return l
}
