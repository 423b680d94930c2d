package plan

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
)

// formatExpression returns an expression that parses to tree. It does what
// syntax.Regexp.String does without looking for the fewest flags: that takes 2 ms for
// each negated class, since it folds every letter of Unicode in it.
func formatExpression(tree *syntax.Regexp) string {
	var b strings.Builder
	writeExpression(&b, tree)
	return b.String()
}

var assertions = map[syntax.Op]string{
	syntax.OpNoMatch: `[^\x00-\x{10FFFF}]`, syntax.OpEmptyMatch: `(?:)`,
	syntax.OpAnyCharNotNL: `(?-s:.)`, syntax.OpAnyChar: `(?s:.)`,
	syntax.OpBeginLine: `(?m:^)`, syntax.OpEndLine: `(?m:$)`, syntax.OpBeginText: `\A`, syntax.OpEndText: `\z`,
	syntax.OpWordBoundary: `\b`, syntax.OpNoWordBoundary: `\B`,
}

func writeExpression(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		text := regexp.QuoteMeta(string(re.Rune))
		if re.Flags&syntax.FoldCase != 0 {
			text = "(?i:" + text + ")"
		}
		b.WriteString(text)
	case syntax.OpCharClass:
		writeClass(b, re.Rune)
	case syntax.OpCapture:
		b.WriteString("(")
		if re.Name != "" {
			b.WriteString("?P<" + re.Name + ">")
		}
		writeExpression(b, re.Sub[0])
		b.WriteString(")")
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		if isAtom(re.Sub[0]) {
			writeExpression(b, re.Sub[0])
		} else {
			writeGroup(b, re.Sub[0])
		}
		b.WriteString(formatCount(re))
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if sub.Op == syntax.OpAlternate {
				writeGroup(b, sub)
			} else {
				writeExpression(b, sub)
			}
		}
	case syntax.OpAlternate:
		for i, sub := range re.Sub {
			if i > 0 {
				b.WriteString("|")
			}
			writeExpression(b, sub)
		}
	default:
		b.WriteString(assertions[re.Op])
	}
}

// isAtom reports whether an operator after re takes all of it as it is written.
func isAtom(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpCharClass, syntax.OpCapture, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpLiteral:
		return len(re.Rune) == 1
	default:
		return false
	}
}

// writeGroup writes re so that an operator after it takes all of it.
func writeGroup(b *strings.Builder, re *syntax.Regexp) {
	b.WriteString("(?:")
	writeExpression(b, re)
	b.WriteString(")")
}

// writeClass writes ranges of runes, pairs of bounds.
func writeClass(b *strings.Builder, ranges []rune) {
	if len(ranges) == 0 {
		b.WriteString(assertions[syntax.OpNoMatch])
		return
	}
	b.WriteString("[")
	for i := 0; i+1 < len(ranges); i += 2 {
		writeRune(b, ranges[i])
		if ranges[i] < ranges[i+1] {
			b.WriteString("-")
			writeRune(b, ranges[i+1])
		}
	}
	b.WriteString("]")
}

// writeRune writes a rune of a class, by its number unless it is an ASCII letter or digit.
func writeRune(b *strings.Builder, r rune) {
	switch {
	case r >= '0' && r <= '9', r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', r == '_':
		b.WriteRune(r)
	default:
		fmt.Fprintf(b, `\x{%X}`, r)
	}
}

// formatCount returns the operator of a repetition.
func formatCount(re *syntax.Regexp) string {
	var count string
	switch re.Op {
	case syntax.OpStar:
		count = "*"
	case syntax.OpPlus:
		count = "+"
	case syntax.OpQuest:
		count = "?"
	default:
		count = "{" + strconv.Itoa(re.Min)
		switch {
		case re.Max < 0:
			count += ","
		case re.Max > re.Min:
			count += "," + strconv.Itoa(re.Max)
		}
		count += "}"
	}
	if re.Flags&syntax.NonGreedy != 0 {
		count += "?"
	}
	return count
}
