package analyze

import (
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/go-enry/go-enry/v2/data"
)

// pathName is a path with the parts that the rules use.
type pathName struct {
	path string
	base string // after the last slash
	ext  string // from the last dot of base, lower case
}

func splitPath(path string) pathName {
	base := path[strings.LastIndexByte(path, '/')+1:]
	name := pathName{path: path, base: base}
	if dot := strings.LastIndexByte(base, '.'); dot >= 0 {
		name.ext = strings.ToLower(base[dot:])
	}
	return name
}

// pathMatcher is a regular expression and a literal that every match contains, so that
// few paths need the expression.
type pathMatcher struct {
	literal string
	re      *regexp.Regexp
}

// pathMatchers match a path if one of them matches.
type pathMatchers []pathMatcher

func (ms pathMatchers) matchesAny(path string) bool {
	for _, m := range ms {
		if strings.Contains(path, m.literal) && m.re.MatchString(path) {
			return true
		}
	}
	return false
}

// vendoredMatchers returns go-enry's patterns for third-party code.
func vendoredMatchers() pathMatchers { return newPathMatchers(data.VendorMatchers) }

// testMatchers returns go-enry's patterns for test files.
func testMatchers() pathMatchers { return newPathMatchers(data.TestMatchers) }

func newPathMatchers(patterns []*regexp.Regexp) pathMatchers {
	ms := make(pathMatchers, 0, len(patterns))
	for _, re := range patterns {
		if re != nil { // nil: cannot be expressed in Go's syntax
			ms = append(ms, pathMatcher{requiredLiteral(re.String()), re})
		}
	}
	return ms
}

// requiredLiteral returns the longest literal found that every match of the expression
// contains; empty if none is found.
func requiredLiteral(expression string) string {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return ""
	}
	return longestLiteral(re.Simplify())
}

func longestLiteral(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return longestLiteral(re.Sub[0])
	case syntax.OpConcat:
		longest := ""
		for _, sub := range re.Sub {
			if s := longestLiteral(sub); len(s) > len(longest) {
				longest = s
			}
		}
		return longest
	}
	return ""
}

// testDirectories are names of directories whose files are tests. go-enry recognizes
// names of test files in only a few languages.
var testDirectories = []string{"test", "tests", "testing", "testdata", "__tests__", "spec", "specs", "selftests"}

// inTestDirectory reports whether a directory of path is one of testDirectories.
func inTestDirectory(path string) bool {
	for {
		slash := strings.IndexByte(path, '/')
		if slash < 0 {
			return false
		}
		switch slash {
		case 4, 5, 7, 8, 9:
			for _, d := range testDirectories {
				if strings.EqualFold(path[:slash], d) {
					return true
				}
			}
		}
		path = path[slash+1:]
	}
}
