package plan

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// formatExpression returns an expression that parses to tree. Unlike
// syntax.Regexp.String, it does not minimize flags, which takes 2 ms for each negated
// class because it folds every letter of Unicode in the class.
func formatExpression(tree *syntax.Regexp) string {
	var b strings.Builder
	writeExpression(&b, tree)
	return b.String()
}

// operands maps operators without runes and subexpressions to their text.
var operands = map[syntax.Op]string{
	syntax.OpNoMatch: `[^\x00-\x{10FFFF}]`, syntax.OpEmptyMatch: `(?:)`,
	syntax.OpAnyCharNotNL: `(?-s:.)`, syntax.OpAnyChar: `(?s:.)`,
	syntax.OpBeginLine: `(?m:^)`, syntax.OpEndLine: `(?m:$)`, syntax.OpBeginText: `\A`, syntax.OpEndText: `\z`,
	syntax.OpWordBoundary: `\b`, syntax.OpNoWordBoundary: `\B`,
}

func writeExpression(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			writeLiteral(b, re.Rune)
			return
		}
		b.WriteString("(?i:")
		writeLiteral(b, re.Rune)
		b.WriteString(")")
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
		b.WriteString(operands[re.Op])
	}
}

// writeLiteral writes runes as they are, and surrogates, which no text contains, by
// number.
func writeLiteral(b *strings.Builder, runes []rune) {
	for _, r := range runes {
		if utf8.ValidRune(r) {
			b.WriteString(regexp.QuoteMeta(string(r)))
		} else {
			fmt.Fprintf(b, `\x{%X}`, r)
		}
	}
}

// isAtom reports whether a repetition operator after the text of re applies to all of it.
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

// writeGroup writes re in a group, so that an operator after it applies to all of it.
func writeGroup(b *strings.Builder, re *syntax.Regexp) {
	b.WriteString("(?:")
	writeExpression(b, re)
	b.WriteString(")")
}

// writeClass writes a class of rune ranges, given as pairs of bounds.
func writeClass(b *strings.Builder, ranges []rune) {
	if len(ranges) == 0 {
		b.WriteString(operands[syntax.OpNoMatch])
		return
	}
	b.WriteString("[")
	if n := len(ranges); n > 2 && ranges[0] == 0 && ranges[n-1] == unicode.MaxRune {
		b.WriteString("^")
		ranges = complementRanges(ranges)
	}
	for i := 0; i+1 < len(ranges); i += 2 {
		writeRune(b, ranges[i])
		if ranges[i] < ranges[i+1] {
			b.WriteString("-")
			writeRune(b, ranges[i+1])
		}
	}
	b.WriteString("]")
}

// complementRanges returns the gaps between ranges, which must begin and end at the
// bounds of Unicode.
func complementRanges(ranges []rune) []rune {
	var between []rune
	for i := 1; i+1 < len(ranges); i += 2 {
		between = append(between, ranges[i]+1, ranges[i+1]-1)
	}
	return between
}

// writeRune writes a bound of a class: by number if it is a control character or could be
// mistaken for syntax.
func writeRune(b *strings.Builder, r rune) {
	if unicode.IsPrint(r) && (r >= utf8.RuneSelf || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)) {
		b.WriteRune(r)
		return
	}
	fmt.Fprintf(b, `\x{%X}`, r)
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
