package plan

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/projections/postings"
)

// ErrPattern reports a regular expression that does not compile.
var ErrPattern = errors.New("invalid regular expression")

// A Pattern is a compiled pattern. See the package documentation.
type Pattern struct {
	// Regexp finds the matches; nil if Exact.
	Regexp *regexp.Regexp
	// Expression is the source of Regexp, and Instructions the size of its program:
	// matching takes up to about 7 ns for each instruction and byte of text.
	Expression   string
	Instructions int
	// Exact is set if the pattern matches exactly the literals of Sets[0]. If two match
	// at the same place, the earlier one in the set wins.
	Exact bool
	// Fold is set if case is ignored: literals are folded.
	Fold bool
	// Multiline is set if a match may contain line feeds.
	Multiline bool
	// KeepCR is set if a carriage return at the end of a line counts as text: the pattern
	// neither contains line feeds nor matches the end of the line, or it names the
	// carriage return.
	KeepCR bool
	// TextAnchors is set if the pattern has \A or \z, which match the ends of the line.
	TextAnchors bool
	// Sets are non-empty sets of literals; every match contains a member of each.
	Sets [][]string
	// Prefixes is a set of literals of which every match begins with one; nil if there is
	// no such set, and unless Multiline.
	Prefixes []string
	// LineStart and LineEnd are set if every match is the one literal of Sets[0] at the
	// beginning or end of a line, and each such occurrence is a match.
	LineStart, LineEnd bool
	// WordStart and WordEnd are set if every match is the one literal of Sets[0] with a word
	// boundary (\b) at its beginning or end, and each such occurrence is a match.
	WordStart, WordEnd bool
	// Foreign is set if every match contains a byte outside ASCII.
	Foreign bool
	// Run is a run of bytes that every match contains; Bytes is 0 if no run is useful.
	Run Run
}

// Run is a run of successive bytes of one class.
type Run struct {
	Class [256]bool
	Bytes int
}

// Literal returns the Pattern of a literal. A literal with line feeds becomes a regular
// expression, because its line feeds match the line endings of any file, unless it names
// the carriage return.
func Literal(text string, fold bool) *Pattern {
	if strings.Contains(text, "\n") && !strings.Contains(text, "\r") {
		if p, err := Regexp(regexp.QuoteMeta(text), fold); err == nil {
			return p
		}
	}
	if fold {
		text = string(postings.AppendFold(nil, []byte(text)))
	}
	return &Pattern{
		Exact: true, Fold: fold, Multiline: strings.Contains(text, "\n"), Sets: [][]string{{text}},
		Foreign: !isASCII(text),
	}
}

// Regexp returns the Pattern of a regular expression in RE2 syntax.
func Regexp(expression string, fold bool) (*Pattern, error) {
	flags := syntax.Perl &^ syntax.OneLine
	if fold {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(expression, flags)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPattern, err)
	}
	p := &Pattern{Multiline: namesLineFeed(expression, tree), Fold: fold || hasFoldCase(tree)}
	p.KeepCR = namesRune(tree, '\r') || !p.Multiline && !hasOp(tree, syntax.OpEndLine, syntax.OpEndText)
	p.TextAnchors = hasOp(tree, syntax.OpBeginText, syntax.OpEndText)
	if !p.Multiline {
		tree = withoutLineFeed(tree)
	}
	p.Expression = formatExpression(tree)
	tree = tree.Simplify()
	certain, readsAsWritten := relaxInvalid(tree), !p.Multiline || p.KeepCR
	if !readsAsWritten {
		certain = relaxLineFeeds(certain)
	}
	in, isUniform := deriveInfo(certain, p.Fold), !p.Fold || !mixesCase(tree)
	if in.exact != nil && !in.asserts && readsAsWritten && isUniform {
		p.Exact, p.Sets = isUsable(in.exact), [][]string{in.exact}
	}
	if !p.Exact {
		if p.Sets = in.requiredSets(); p.Multiline {
			p.Prefixes = prefixesOf(certain, p.Fold)
		} else if isUniform {
			p.LineStart, p.LineEnd = p.findBounds(certain, syntax.OpBeginLine, syntax.OpEndLine)
			p.WordStart, p.WordEnd = p.findBounds(certain, syntax.OpWordBoundary, syntax.OpWordBoundary)
		}
		p.Run = findRun(certain)
		if err := p.compileRegexp(tree); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrPattern, err)
		}
	}
	p.Foreign = slices.ContainsFunc(p.Sets, allForeign) || p.Run.Bytes > 0 && !slices.Contains(p.Run.Class[:utf8.RuneSelf], true)
	return p, nil
}

// compileRegexp sets Regexp; simple is the simplified tree of Expression.
func (p *Pattern) compileRegexp(simple *syntax.Regexp) (err error) {
	if p.Regexp, err = regexp.Compile(p.Expression); err != nil {
		return err
	}
	program, err := syntax.Compile(simple)
	if err == nil {
		p.Instructions = len(program.Inst)
	}
	return err
}

// Bounded reports whether the pattern is a literal anchored to a line's beginning or end.
func (p *Pattern) Bounded() bool { return p.LineStart || p.LineEnd }

// IsWord reports whether the pattern is a literal that begins or ends at a word boundary.
func (p *Pattern) IsWord() bool { return p.WordStart || p.WordEnd }

// findBounds recognizes a literal with an assertion at its beginning, its end or both, such as
// ^literal$. It makes the literal that of Sets[0].
func (p *Pattern) findBounds(tree *syntax.Regexp, first, last syntax.Op) (start, end bool) {
	if tree.Op != syntax.OpConcat {
		return false, false
	}
	inner := tree.Sub
	if start = inner[0].Op == first; start {
		inner = inner[1:]
	}
	if end = len(inner) > 0 && inner[len(inner)-1].Op == last; end {
		inner = inner[:len(inner)-1]
	}
	in := deriveConcat(inner, p.Fold)
	if !start && !end || len(in.exact) != 1 || in.asserts || !isUsable(in.exact) {
		return false, false
	}
	p.Sets = [][]string{in.exact}
	return start, end
}

// ShortestLiteral returns the length in bytes of the shortest literal of the best set;
// 0 if there is no set.
func (p *Pattern) ShortestLiteral() int {
	if len(p.Sets) == 0 {
		return 0
	}
	shortest := maxLiteralBytes
	for _, s := range p.Sets[0] {
		shortest = min(shortest, len(s))
	}
	return shortest
}

// allForeign reports whether no literal of a set is ASCII.
func allForeign(set []string) bool { return !slices.ContainsFunc(set, isASCII) }

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// isUsable reports whether a set has literals and none of them is empty.
func isUsable(set []string) bool {
	for _, s := range set {
		if s == "" {
			return false
		}
	}
	return len(set) > 0
}

// anyNode reports whether any node of a pattern satisfies is.
func anyNode(re *syntax.Regexp, is func(*syntax.Regexp) bool) bool {
	return is(re) || slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return anyNode(sub, is) })
}

// namesRune reports whether a literal of a pattern contains r.
func namesRune(re *syntax.Regexp, r rune) bool {
	return anyNode(re, func(re *syntax.Regexp) bool { return re.Op == syntax.OpLiteral && slices.Contains(re.Rune, r) })
}

// hasOp reports whether a pattern contains one of the operators.
func hasOp(re *syntax.Regexp, ops ...syntax.Op) bool {
	return anyNode(re, func(re *syntax.Regexp) bool { return slices.Contains(ops, re.Op) })
}

// hasFoldCase reports whether a part of a pattern ignores case.
func hasFoldCase(re *syntax.Regexp) bool {
	return anyNode(re, func(re *syntax.Regexp) bool { return re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase != 0 })
}

// mixesCase reports whether letter case matters for some letters of a pattern that ignores it for
// others, as [Nn]ew does. Its folded literals match more than the pattern.
func mixesCase(re *syntax.Regexp) bool {
	return anyNode(re, func(re *syntax.Regexp) bool {
		switch re.Op {
		case syntax.OpLiteral:
			return re.Flags&syntax.FoldCase == 0 && slices.ContainsFunc(re.Rune, func(r rune) bool { return unicode.SimpleFold(r) != r })
		case syntax.OpCharClass:
			return !isFolded(re.Rune)
		default:
			return false
		}
	})
}

// isFolded reports whether ranges of runes contain each letter in all cases. It returns false for
// a class of so many runes that no literals are derived from it.
func isFolded(ranges []rune) bool {
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i+1]-ranges[i] >= maxClassRunes {
			return false
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if !hasRune(ranges, unicode.SimpleFold(r)) {
				return false
			}
		}
	}
	return true
}

// hasRune reports whether ranges of runes contain r.
func hasRune(ranges []rune, r rune) bool {
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i] <= r && r <= ranges[i+1] {
			return true
		}
	}
	return false
}

// withoutLineFeed removes the line feed from every class, in place.
func withoutLineFeed(re *syntax.Regexp) *syntax.Regexp {
	if re.Op == syntax.OpAnyChar { // of both sides of an alternation together
		re.Op = syntax.OpAnyCharNotNL
	}
	if re.Op == syntax.OpCharClass {
		re.Rune = removeRune(re.Rune, '\n')
		if len(re.Rune) == 0 {
			return &syntax.Regexp{Op: syntax.OpNoMatch}
		}
	}
	for i, sub := range re.Sub {
		re.Sub[i] = withoutLineFeed(sub)
	}
	return re
}

// removeRune removes r from ranges of runes (pairs of bounds).
func removeRune(ranges []rune, r rune) []rune {
	out := make([]rune, 0, len(ranges)+2)
	for i := 0; i+1 < len(ranges); i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		if r < lo || r > hi {
			out = append(out, lo, hi)
			continue
		}
		if lo < r {
			out = append(out, lo, r-1)
		}
		if r < hi {
			out = append(out, r+1, hi)
		}
	}
	return out
}

// byteShare returns roughly how often a byte occurs in source code, in thousandths. That
// is precise enough to tell classes that skip well from classes that do not.
func byteShare(b int) int {
	switch {
	case b == ' ':
		return 150
	case b >= 'a' && b <= 'z':
		return 22
	case b == '\t' || b == '\n' || b == '_':
		return 30
	case b >= '0' && b <= '9':
		return 6
	case b < unicode.MaxASCII && b > ' ':
		return 4
	case b >= 0x80:
		return 0
	}
	return 1
}
