package suite

import (
	"regexp"
	"strings"
)

// Plain is a query in a form that ripgrep can answer: lines that match any of Patterns,
// in files that pass the filters.
type Plain struct {
	// Patterns are alternatives, in RE2 syntax.
	Patterns []string
	// CaseSensitive is set if the query contains case:yes.
	CaseSensitive bool
	repository    filters
	path          filters
}

// filters holds expressions that must all match (want), and expressions of which none may
// match (reject).
type filters struct{ want, reject []*regexp.Regexp }

func (f filters) matchesFilters(s string) bool {
	for _, re := range f.want {
		if !re.MatchString(s) {
			return false
		}
	}
	for _, re := range f.reject {
		if re.MatchString(s) {
			return false
		}
	}
	return true
}

// Wants reports whether a file can be in the answer.
func (p Plain) Wants(repository, path string) bool {
	return p.repository.matchesFilters(repository) && p.path.matchesFilters(path)
}

// WantsRepository reports whether any file of the repository can be in the answer.
func (p Plain) WantsRepository(repository string) bool {
	return p.repository.matchesFilters(repository)
}

// Plain translates the query. ok is false if ripgrep has no equivalent: for symbols,
// languages, names of files and repositories, several required terms, negated terms, and
// groups.
func (q Query) Plain() (p Plain, ok bool) {
	tokens := splitTokens(q.Text)
	expectTerm := true // only "or" is allowed between terms
	for _, t := range tokens {
		field, value, isFilter := splitFilter(t)
		switch {
		case isFilter:
			if !p.applyFilter(field, value, strings.HasPrefix(t, "-"), &expectTerm) {
				return Plain{}, false
			}
		case strings.HasPrefix(t, "-") || (!strings.HasPrefix(t, `"`) && strings.HasPrefix(t, "(")):
			return Plain{}, false
		case t == "or" && !expectTerm:
			expectTerm = true
		case expectTerm:
			p.Patterns = append(p.Patterns, unquoteToken(t))
			expectTerm = false
		default:
			return Plain{}, false
		}
	}
	return p, len(p.Patterns) > 0 && !expectTerm
}

func (p *Plain) applyFilter(field, value string, negated bool, expectTerm *bool) bool {
	switch field {
	case "content":
		if negated || !*expectTerm {
			return false
		}
		p.Patterns = append(p.Patterns, value)
		*expectTerm = false
		return true
	case "case":
		p.CaseSensitive = value == "yes"
		return !negated
	case "repo":
		return p.repository.addFilter(value, negated)
	case "file":
		return p.path.addFilter("(?i)"+value, negated)
	}
	return false
}

func (f *filters) addFilter(expression string, negated bool) bool {
	re, err := regexp.Compile(expression)
	if err != nil {
		return false
	}
	if negated {
		f.reject = append(f.reject, re)
	} else {
		f.want = append(f.want, re)
	}
	return true
}

var filterPattern = regexp.MustCompile(`^-?(repo|file|lang|sym|case|content|type|branch|rev):`)

func splitFilter(token string) (field, value string, ok bool) {
	if !filterPattern.MatchString(token) {
		return "", "", false
	}
	field, value, _ = strings.Cut(strings.TrimPrefix(token, "-"), ":")
	return field, unquoteToken(value), true
}

// splitTokens splits text at spaces outside of double quotes.
func splitTokens(text string) []string {
	var tokens []string
	var token strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			token.WriteByte(c)
			i++
			token.WriteByte(text[i])
		case c == '"':
			quoted = !quoted
			token.WriteByte(c)
		case c == ' ' && !quoted:
			if token.Len() > 0 {
				tokens = append(tokens, token.String())
			}
			token.Reset()
		default:
			token.WriteByte(c)
		}
	}
	if token.Len() > 0 {
		tokens = append(tokens, token.String())
	}
	return tokens
}

// unquoteToken removes the quotes of a quoted token and one level of backslashes.
func unquoteToken(token string) string {
	if len(token) < 2 || token[0] != '"' || token[len(token)-1] != '"' {
		return token
	}
	var b strings.Builder
	for i := 1; i < len(token)-1; i++ {
		if token[i] == '\\' && i+1 < len(token)-1 {
			i++
		}
		b.WriteByte(token[i])
	}
	return b.String()
}

// perl maps RE2's ASCII classes to their long forms, because ripgrep's engine treats the
// short forms as Unicode classes.
var perl = map[byte]string{
	'w': `0-9A-Za-z_`, 'd': `0-9`, 's': `\t\n\f\r `,
}

var repetition = regexp.MustCompile(`^\{[0-9]+(,[0-9]*)?\}`)

// Multiline reports whether a pattern contains a line feed, and so may match across
// lines.
func Multiline(pattern string) bool {
	return strings.Contains(pattern, `\n`) || strings.Contains(pattern, "(?s")
}

// Ripgrep rewrites an RE2 expression so that ripgrep's engine matches the same text: with
// ASCII classes and word boundaries, an optional carriage return before a line feed, and
// escaped braces that do not begin a repetition.
func Ripgrep(pattern string) string {
	namesCR := strings.Contains(pattern, `\r`)
	var b strings.Builder
	inClass := false
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		if c != '\\' || i+1 == len(pattern) {
			inClass = (inClass || c == '[') && c != ']'
			if c == '{' && !inClass && !repetition.MatchString(pattern[i:]) {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
			continue
		}
		i++
		if n := strings.IndexByte(pattern[i:], '}'); n > 0 && strings.ContainsRune("pPx", rune(pattern[i])) && strings.HasPrefix(pattern[i+1:], "{") {
			b.WriteString(`\` + pattern[i:i+n+1]) // a name, not a repetition
			i += n
			continue
		}
		if pattern[i] == 'n' && !inClass && !namesCR {
			b.WriteString(`(?:\r?\n)`)
			continue
		}
		b.WriteString(rewriteEscape(pattern[i], inClass))
	}
	return b.String()
}

func rewriteEscape(c byte, inClass bool) string {
	if c == 'b' || c == 'B' {
		return `(?-u:\` + string(c) + `)`
	}
	if class, ok := perl[c]; ok {
		if inClass {
			return class
		}
		return "[" + class + "]"
	}
	if class, ok := perl[c|0x20]; ok && c >= 'A' && c <= 'Z' && !inClass {
		return "[^" + class + "]"
	}
	return `\` + string(c)
}
