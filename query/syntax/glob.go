package syntax

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"
)

// GlobRegexp returns the regular expression for paths that a glob matches: * matches any
// run within an element, ** any run at all, ? one character except a slash, and [a-z] and
// {a,b} work as in shells. A match ends at the end of the path and begins at any element
// of it, or at the first if the glob begins with a slash.
func GlobRegexp(glob string) (string, error) {
	g := globTranslator{rest: strings.TrimPrefix(glob, "./")}
	g.out.WriteString("(?:^|/)")
	if strings.HasPrefix(g.rest, "/") {
		g.rest = strings.TrimLeft(g.rest, "/")
		g.out.Reset()
		g.out.WriteString("^")
	}
	if strings.HasSuffix(g.rest, "/") {
		g.rest += "**" // anything below a directory
	}
	for g.rest != "" {
		if err := g.writeNext(); err != nil {
			return "", err
		}
	}
	if g.depth > 0 {
		return "", errors.New("a brace is not closed: write {a,b}")
	}
	g.out.WriteString("$")
	_, err := regexp.Compile(g.out.String())
	return g.out.String(), err
}

// isGlob reports whether the value of a filter on names or paths is a glob rather than a
// regular expression: a star begins it or follows a slash, or it has two stars, and it
// contains nothing that has a meaning in expressions only. A quoted value is always an
// expression.
func isGlob(value string) bool {
	return (strings.HasPrefix(value, "*") || strings.Contains(value, "/*") || strings.Contains(value, "**")) &&
		!strings.ContainsAny(value, `^$()|+\`) && !strings.Contains(value, ".*") && !strings.Contains(value, "]*")
}

type globTranslator struct {
	rest  string
	out   strings.Builder
	depth int // nesting of braces
}

func (g *globTranslator) writeNext() error {
	for _, token := range [...]struct{ glob, regexp string }{{"**/", "(?:[^/]*/)*"}, {"**", ".*"}, {"*", "[^/]*"}, {"?", "[^/]"}} {
		if rest, ok := strings.CutPrefix(g.rest, token.glob); ok {
			g.rest = rest
			g.out.WriteString(token.regexp)
			return nil
		}
	}
	c := g.rest[0]
	switch {
	case c == '[':
		return g.writeClass()
	case c == '{':
		g.depth++
		g.out.WriteString("(?:")
	case c == '}' && g.depth > 0:
		g.depth--
		g.out.WriteString(")")
	case c == ',' && g.depth > 0:
		g.out.WriteString("|")
	case c == '\\' && len(g.rest) > 1:
		g.rest = g.rest[1:]
		fallthrough
	default:
		g.writeLiteral()
		return nil
	}
	g.rest = g.rest[1:]
	return nil
}

// writeLiteral writes one character.
func (g *globTranslator) writeLiteral() {
	_, size := utf8.DecodeRuneInString(g.rest)
	g.out.WriteString(regexp.QuoteMeta(g.rest[:size]))
	g.rest = g.rest[size:]
}

// writeClass writes a set of characters, [a-z] or [!a-z].
func (g *globTranslator) writeClass() error {
	end := strings.IndexByte(g.rest[1:], ']')
	if end <= 0 {
		return errors.New("a set of characters is not closed: write [abc], or \\[ for the bracket itself")
	}
	set := g.rest[1 : 1+end]
	g.rest = g.rest[end+2:]
	g.out.WriteString("[")
	if set[0] == '!' || set[0] == '^' {
		g.out.WriteString("^/")
		set = set[1:]
	}
	g.out.WriteString(strings.NewReplacer(`\`, `\\`, "[", `\[`, "^", `\^`, "&", `\&`, "/", "").Replace(set))
	g.out.WriteString("]")
	return nil
}
