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

// ErrPattern says that a regular expression does not compile.
var ErrPattern = errors.New("invalid regular expression")

// A Pattern is a compiled pattern. See the package documentation.
type Pattern struct {
	// Regexp finds the matches; nil if Exact.
	Regexp *regexp.Regexp
	// Expression is the expression that Regexp was compiled from, Instructions the
	// size of its program: matching takes up to about 7 ns for each instruction and
	// byte of text.
	Expression   string
	Instructions int
	// Exact says that the pattern matches the literals of Sets[0] and nothing
	// else, the earlier of two that start at one place.
	Exact bool
	// Fold says that case is ignored: literals are folded.
	Fold bool
	// Multiline says that a match may have line feeds.
	Multiline bool
	// KeepCR says that a carriage return at the end of a line is text: the pattern
	// neither has line feeds nor looks for the end of the line, or it names the
	// carriage return.
	KeepCR bool
	// TextAnchors says that the pattern has \A or \z, which mean the ends of the
	// line it is matched in.
	TextAnchors bool
	// Sets are sets of literals of which every match contains one, none empty.
	Sets [][]string
	// LineStart and LineEnd say that every match is the one literal of Sets[0], at
	// the beginning of a line and at the end of one, and that each such place is a
	// match.
	LineStart, LineEnd bool
	// Foreign says that every match has a byte outside ASCII.
	Foreign bool
	// Run is a run of bytes that every match contains; Bytes is 0 if none helps.
	Run Run
}

// Run is a run of successive bytes of a class.
type Run struct {
	Class [256]bool
	Bytes int
}

// Literal returns the Pattern of a literal. One with line feeds becomes a regular
// expression, since they match those of any file, unless it names the carriage
// return.
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
	certain := relaxRune(tree, utf8.RuneError)
	if p.Multiline && !p.KeepCR {
		certain = relaxRune(certain, '\n')
	}
	in := deriveInfo(certain, p.Fold)
	if in.exact != nil && !in.asserts {
		p.Exact, p.Sets = isUsable(in.exact), [][]string{in.exact}
	}
	if !p.Exact {
		if p.Sets = in.requiredSets(); !p.Multiline {
			p.setLineBounds(certain)
		}
		p.Run = findRun(certain)
		if err := p.compileRegexp(tree); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrPattern, err)
		}
	}
	p.Foreign = slices.ContainsFunc(p.Sets, allForeign) || p.Run.Bytes > 0 && !slices.Contains(p.Run.Class[:utf8.RuneSelf], true)
	return p, nil
}

// compileRegexp makes Regexp, where simple is the simplified tree of Expression.
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

// Bounded reports whether the pattern is a literal with bounds of lines.
func (p *Pattern) Bounded() bool { return p.LineStart || p.LineEnd }

// setLineBounds recognises ^literal, literal$ and ^literal$.
func (p *Pattern) setLineBounds(tree *syntax.Regexp) {
	if tree.Op != syntax.OpConcat {
		return
	}
	inner := tree.Sub
	start := inner[0].Op == syntax.OpBeginLine
	if start {
		inner = inner[1:]
	}
	end := len(inner) > 0 && inner[len(inner)-1].Op == syntax.OpEndLine
	if end {
		inner = inner[:len(inner)-1]
	}
	in := deriveConcat(inner, p.Fold)
	if (start || end) && len(in.exact) == 1 && !in.asserts && isUsable(in.exact) {
		p.LineStart, p.LineEnd, p.Sets = start, end, [][]string{in.exact}
	}
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

// isUsable reports whether every literal of a set says something.
func isUsable(set []string) bool {
	for _, s := range set {
		if s == "" {
			return false
		}
	}
	return len(set) > 0
}

// anyNode reports whether a node of a pattern satisfies is.
func anyNode(re *syntax.Regexp, is func(*syntax.Regexp) bool) bool {
	return is(re) || slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return anyNode(sub, is) })
}

// namesRune reports whether a pattern contains r explicitly, or, if r is the line
// feed, by a dot under (?s).
func namesRune(re *syntax.Regexp, r rune) bool {
	return anyNode(re, func(re *syntax.Regexp) bool {
		return re.Op == syntax.OpAnyChar && r == '\n' || re.Op == syntax.OpLiteral && slices.Contains(re.Rune, r)
	})
}

// hasOp reports whether one of the operators occurs in a pattern.
func hasOp(re *syntax.Regexp, ops ...syntax.Op) bool {
	return anyNode(re, func(re *syntax.Regexp) bool { return slices.Contains(ops, re.Op) })
}

// hasFoldCase reports whether a part of a pattern ignores case.
func hasFoldCase(re *syntax.Regexp) bool {
	return anyNode(re, func(re *syntax.Regexp) bool { return re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase != 0 })
}

// withoutLineFeed takes the line feed out of every class, in place.
func withoutLineFeed(re *syntax.Regexp) *syntax.Regexp {
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

// removeRune takes r out of ranges of runes (pairs of bounds).
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

// byteShare is roughly how often a byte occurs in source code, in thousandths:
// enough to distinguish a class that skips from one that does not.
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
