package codehtml

import (
	"regexp"
	"strconv"
	"unicode/utf8"
)

// Position is a line and a column in characters, both from 1; column 0 means none.
type Position struct{ Line, Column int }

// Range is a marked range of a file. Its end is exclusive if it has a column. The zero
// value means no mark.
type Range struct{ From, To Position }

var (
	linePattern  = regexp.MustCompile(`^L?(\d{1,9})(?:-L?(\d{1,9}))?$`)
	rangePattern = regexp.MustCompile(`^(\d{1,9})(?::(\d{1,9}))?(?:,(\d{1,9})(?::(\d{1,9}))?)?$`)
)

// ParseLines parses "12" or "12-30"; other texts yield the zero Range.
func ParseLines(s string) Range {
	m := linePattern.FindStringSubmatch(s)
	if m == nil {
		return Range{}
	}
	return newRange(Position{Line: parseNumber(m[1])}, Position{Line: parseNumber(m[2])})
}

// ParseRange parses LINE[:COLUMN][,LINE[:COLUMN]]; other texts yield the zero Range.
func ParseRange(s string) Range {
	m := rangePattern.FindStringSubmatch(s)
	if m == nil {
		return Range{}
	}
	return newRange(Position{parseNumber(m[1]), parseNumber(m[2])}, Position{parseNumber(m[3]), parseNumber(m[4])})
}

// parseNumber parses at most nine digits; no digits yield 0.
func parseNumber(s string) int { n, _ := strconv.Atoi(s); return n }

func newRange(from, to Position) Range {
	if to.Line == 0 {
		to.Line = from.Line
	}
	if from.Line == 0 || to.Line < from.Line {
		return Range{}
	}
	return Range{from, to}
}

// IsEmpty reports whether nothing is marked.
func (r Range) IsEmpty() bool { return r.From.Line == 0 }

// Clamp returns the range limited to a file of some lines, and whether it was within it.
func (r Range) Clamp(lines int) (Range, bool) {
	switch {
	case r.IsEmpty() || r.To.Line <= lines:
		return r, true
	case lines == 0:
		return Range{}, false
	case r.From.Line > lines:
		return Range{Position{Line: lines}, Position{Line: lines}}, false
	}
	return Range{r.From, Position{Line: lines}}, false
}

// String formats the lines for ParseLines.
func (r Range) String() string {
	switch {
	case r.IsEmpty():
		return ""
	case r.From.Line == r.To.Line:
		return strconv.Itoa(r.From.Line)
	}
	return strconv.Itoa(r.From.Line) + "-" + strconv.Itoa(r.To.Line)
}

// columnsOf returns which bytes of a line are marked; none if the whole line is.
func (r Range) columnsOf(number int, line []byte) (from, to int) {
	if r.From.Column <= 0 && r.To.Column <= 0 || number < r.From.Line || number > r.To.Line {
		return 0, 0
	}
	to = len(line)
	if number == r.From.Line {
		from = byteOfColumn(line, r.From.Column)
	}
	if number == r.To.Line && r.To.Column > 0 {
		to = byteOfColumn(line, r.To.Column)
	}
	if to <= from {
		return 0, 0
	}
	return from, to
}

// byteOfColumn returns the offset of the character at a column.
func byteOfColumn(line []byte, column int) int {
	at := 0
	for ; column > 1 && at < len(line); column-- {
		_, n := utf8.DecodeRune(line[at:])
		at += n
	}
	return at
}
