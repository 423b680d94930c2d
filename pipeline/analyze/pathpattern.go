package analyze

import "strings"

// pathPattern is a pattern of a line of attributes, which matches paths as git's
// wildmatch does. Matching takes time proportional to the product of both lengths, where
// git's takes exponential time.
type pathPattern struct {
	// anyDirectory is set for a pattern without a slash, which matches names.
	anyDirectory bool
	// literal is the part before the first wildcard, and suffix that after a wildcard
	// that is the first and only one.
	literal, suffix string
	isSuffix        bool
	// tokens are the rest of the pattern.
	tokens []patternToken
}

// patternToken is an element of a pattern, or a jump between elements.
type patternToken struct {
	kind tokenKind
	c    byte       // of tokenByte
	set  *[4]uint64 // of tokenClass
}

type tokenKind uint8

const (
	tokenByte     tokenKind = iota
	tokenAny                // ?
	tokenClass              // [a-z]
	tokenStar               // *: anything but slashes
	tokenDeepStar           // **: anything
	// tokenMaybe precedes a tokenDeepStar and the slash after it, which may both be left
	// out.
	tokenMaybe
	tokenNever // an invalid class, or a backslash at the end
)

// globSpecial are the bytes with a meaning in patterns.
const globSpecial = `*?[\`

// compilePattern returns the pattern of a line. ok is false if it matches no file: it is
// empty, negative or one of a directory.
func compilePattern(s string) (p pathPattern, ok bool) {
	if s == "" || s[0] == '!' || s[len(s)-1] == '/' {
		return p, false
	}
	p.anyDirectory = !strings.Contains(s, "/")
	s = strings.TrimPrefix(s, "/")
	if p.anyDirectory && s[0] == '*' && !strings.ContainsAny(s[1:], globSpecial) {
		p.suffix, p.isSuffix = s[1:], true
		return p, true
	}
	if i := strings.IndexAny(s, globSpecial); i >= 0 {
		p.literal, p.tokens = s[:i], parseTokens(s[i:])
	} else {
		p.literal = s
	}
	return p, true
}

// matches reports whether the pattern matches a path below the directory of its file. It
// subtracts the work from steps.
func (p *pathPattern) matches(path string, steps *int) bool {
	if p.anyDirectory {
		path = path[strings.LastIndexByte(path, '/')+1:]
	}
	if p.isSuffix {
		return strings.HasSuffix(path, p.suffix)
	}
	rest, ok := strings.CutPrefix(path, p.literal)
	if !ok || p.tokens == nil {
		return ok && rest == ""
	}
	return matchTokens(p.tokens, rest, steps)
}

// parseTokens parses a pattern from its first wildcard on. As in git, what precedes it
// does not count for the meaning of two stars.
func parseTokens(s string) []patternToken {
	var out []patternToken
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '*':
			end := i + 1
			for end < len(s) && s[end] == '*' {
				end++
			}
			rest := s[end:]
			deep := end-i > 1 && (i == 0 || s[i-1] == '/') && (rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`))
			switch {
			case !deep:
				out = append(out, patternToken{kind: tokenStar})
			case strings.HasPrefix(rest, "/"):
				out = append(out, patternToken{kind: tokenMaybe}, patternToken{kind: tokenDeepStar})
			default:
				out = append(out, patternToken{kind: tokenDeepStar})
			}
			i = end - 1
		case '?':
			out = append(out, patternToken{kind: tokenAny})
		case '[':
			set, end, ok := parseClass(s, i)
			if !ok {
				return append(out, patternToken{kind: tokenNever})
			}
			out = append(out, patternToken{kind: tokenClass, set: set})
			i = end
		case '\\':
			if i++; i == len(s) {
				return append(out, patternToken{kind: tokenNever})
			}
			out = append(out, patternToken{kind: tokenByte, c: s[i]})
		default:
			out = append(out, patternToken{kind: tokenByte, c: s[i]})
		}
	}
	return out
}

// parseClass parses the class of bytes whose bracket is at i, and returns its set and the
// index of its closing bracket.
func parseClass(s string, i int) (set *[4]uint64, end int, ok bool) {
	set = &[4]uint64{}
	at := func(i int) byte {
		if i < len(s) {
			return s[i]
		}
		return 0
	}
	i++
	negated := at(i) == '!' || at(i) == '^'
	if negated {
		i++
	}
	for previous, first := byte(0), true; first || at(i) != ']'; first = false {
		c := at(i)
		switch {
		case c == 0:
			return nil, 0, false
		case c == '\\':
			if i++; at(i) == 0 {
				return nil, 0, false
			}
			c = at(i)
			addRange(set, c, c)
		case c == '-' && previous != 0 && at(i+1) != 0 && at(i+1) != ']':
			if i++; at(i) == '\\' {
				i++
			}
			if at(i) == 0 {
				return nil, 0, false
			}
			addRange(set, previous, at(i))
			c = 0
		case c == '[' && at(i+1) == ':':
			length := strings.IndexByte(s[i+2:], ']')
			if length < 0 {
				return nil, 0, false
			}
			name := s[i+2 : i+2+length]
			if !strings.HasSuffix(name, ":") {
				addRange(set, c, c)
				break
			}
			if !addNamedClass(set, strings.TrimSuffix(name, ":")) {
				return nil, 0, false
			}
			i, c = i+2+length, 0
		default:
			addRange(set, c, c)
		}
		previous = c
		i++
	}
	if negated {
		for w := range set {
			set[w] = ^set[w]
		}
	}
	set['/'/64] &^= 1 << ('/' % 64) // no class matches a slash
	return set, i, true
}

func addRange(set *[4]uint64, from, to byte) {
	for c := int(from); c <= int(to); c++ {
		set[c/64] |= 1 << (c % 64)
	}
}

// namedClasses are the ranges of POSIX classes.
var namedClasses = map[string]string{
	"alnum": "09AZaz", "alpha": "AZaz", "blank": "  \t\t", "cntrl": "\x00\x1f\x7f\x7f", "digit": "09", "graph": "!~",
	"lower": "az", "print": " ~", "punct": "!/:@[`{~", "space": "  \t\n\r\r", "upper": "AZ", "xdigit": "09AFaf",
}

func addNamedClass(set *[4]uint64, name string) bool {
	ranges, ok := namedClasses[name]
	for ; len(ranges) > 0; ranges = ranges[2:] {
		addRange(set, ranges[0], ranges[1])
	}
	return ok
}

// matchTokens reports whether tokens match all of text. It follows all ways to match at
// once, and subtracts the number of steps from steps; it gives up at zero.
func matchTokens(tokens []patternToken, text string, steps *int) bool {
	var small [2][64]uint16
	now, next := small[0][:0], small[1][:0]
	marks := make([]int, len(tokens)+1) // 1 + the position in text at which a state was added
	var add func(list []uint16, state, at int) []uint16
	add = func(list []uint16, state, at int) []uint16 {
		if marks[state] == at+1 {
			return list
		}
		marks[state] = at + 1
		list = append(list, uint16(state))
		if state < len(tokens) {
			switch tokens[state].kind {
			case tokenStar, tokenDeepStar:
				return add(list, state+1, at)
			case tokenMaybe:
				return add(add(list, state+1, at), state+3, at)
			}
		}
		return list
	}
	now = add(now, 0, 0)
	for i := range len(text) {
		c := text[i]
		next = next[:0]
		if *steps -= len(now); *steps <= 0 || len(now) == 0 {
			return false
		}
		for _, state := range now {
			if int(state) == len(tokens) {
				continue
			}
			switch t := &tokens[state]; t.kind {
			case tokenByte:
				if c == t.c {
					next = add(next, int(state)+1, i+1)
				}
			case tokenAny:
				if c != '/' {
					next = add(next, int(state)+1, i+1)
				}
			case tokenClass:
				if t.set[c/64]&(1<<(c%64)) != 0 {
					next = add(next, int(state)+1, i+1)
				}
			case tokenStar:
				if c != '/' {
					next = add(next, int(state), i+1)
				}
			case tokenDeepStar:
				next = add(next, int(state), i+1)
			}
		}
		now, next = next, now
	}
	return marks[len(tokens)] == len(text)+1
}
