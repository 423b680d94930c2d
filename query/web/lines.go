package web

import (
	"bytes"
	"html/template"
	"regexp"
	"strconv"
	"unicode/utf8"
)

// Bounds of the part of a file that one page shows: a larger file has several.
const (
	maxPartBytes = 2 << 20
	maxPartLines = 20_000
)

// markup is text of a file that appendText has escaped.
type markup = template.HTML

// part is a run of lines of a file.
type part struct {
	first, lines int // number of the first line, from 1, and how many
	text         []byte
	cut          bool // text is only the beginning of its one line
}

// cutParts cuts a text into parts of whole lines.
func cutParts(text []byte) []part {
	var parts []part
	for line := 1; len(text) > 0; {
		p := part{first: line}
		size := 0
		for p.lines < maxPartLines && size < len(text) {
			next := len(text) - size
			if i := bytes.IndexByte(text[size:], '\n'); i >= 0 {
				next = i + 1
			}
			if p.lines > 0 && size+next > maxPartBytes {
				break
			}
			size += next
			p.lines++
		}
		if p.text = text[:size]; size > maxPartBytes {
			p.cut, p.text = true, text[:runeStart(text, maxPartBytes)]
		}
		parts = append(parts, p)
		text, line = text[size:], line+p.lines
	}
	return parts
}

// runeStart returns where the character begins that has the byte at i.
func runeStart(text []byte, i int) int {
	for j := i; j > i-utf8.UTFMax && j >= 0; j-- {
		if utf8.RuneStart(text[j]) {
			return j
		}
	}
	return i
}

// partOfLine returns the index of the part with a line; the first if there is no
// such line.
func partOfLine(parts []part, line int) int {
	for i, p := range parts {
		if line >= p.first && line < p.first+p.lines {
			return i
		}
	}
	return 0
}

// position is a line and a column in characters, both from 1; column 0 is none.
type position struct{ line, column int }

// highlight is a range of a file that is to be seen. Its end is exclusive where it
// has a column. The zero value is none.
type highlight struct{ from, to position }

var highlightPattern = regexp.MustCompile(`^(\d{1,9})(?::(\d{1,9}))?(?:,(\d{1,9})(?::(\d{1,9}))?)?$`)

// readHighlight reads LINE[:COLUMN][,LINE[:COLUMN]]; anything else is no range.
func readHighlight(s string) highlight {
	m := highlightPattern.FindStringSubmatch(s)
	if m == nil {
		return highlight{}
	}
	number := func(i int) int { n, _ := strconv.Atoi(m[i]); return n } // at most nine digits
	h := highlight{from: position{number(1), number(2)}, to: position{number(3), number(4)}}
	if h.to.line == 0 {
		h.to.line = h.from.line
	}
	if h.from.line == 0 || h.to.line < h.from.line {
		return highlight{}
	}
	return h
}

// columnsOf returns which bytes of a line without its end are highlighted.
func (h highlight) columnsOf(number int, line []byte) (from, to int) {
	if number < h.from.line || number > h.to.line {
		return 0, 0
	}
	to = len(line)
	if number == h.from.line {
		from = byteOfColumn(line, h.from.column)
	}
	if number == h.to.line && h.to.column > 0 {
		to = byteOfColumn(line, h.to.column)
	}
	if to <= from {
		return 0, len(line) // no such columns: the line
	}
	return from, to
}

// byteOfColumn returns where the character of a column begins.
func byteOfColumn(line []byte, column int) int {
	at := 0
	for ; column > 1 && at < len(line); column-- {
		_, n := utf8.DecodeRune(line[at:])
		at += n
	}
	return at
}

// renderPart returns the lines with their numbers, each of which can be linked to. The
// first highlighted one has the focus: a browser scrolls there by itself, unless the
// address names a line.
func (p part) renderPart(mark highlight) markup {
	out := make([]byte, 0, len(p.text)+len(p.text)/4+64*p.lines)
	number := p.first
	for line := range bytes.Lines(p.text) {
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		out = append(out, `<a id="L`...)
		out = strconv.AppendInt(out, int64(number), 10)
		out = append(out, `" href="#L`...)
		out = strconv.AppendInt(out, int64(number), 10)
		out = append(out, `" tabindex="-1"`...)
		if number == mark.from.line {
			out = append(out, " autofocus"...)
		}
		out = append(out, '>')
		out = strconv.AppendInt(out, int64(number), 10)
		out = append(out, "</a>"...)
		from, to := mark.columnsOf(number, line)
		out = appendText(out, line[:from])
		if from < to {
			out = append(appendText(append(out, "<mark>"...), line[from:to]), "</mark>"...)
		}
		out = append(appendText(out, line[to:]), '\n')
		number++
	}
	return markup(out)
}

// appendText appends text of a file as HTML. It is the only place that makes markup
// of what is in a repository.
func appendText(out, text []byte) []byte {
	for _, c := range text {
		switch c {
		case '&':
			out = append(out, "&amp;"...)
		case '<':
			out = append(out, "&lt;"...)
		case '>':
			out = append(out, "&gt;"...)
		case '"':
			out = append(out, "&#34;"...)
		case '\'':
			out = append(out, "&#39;"...)
		case '\r':
			out = append(out, "&#13;"...) // a browser would make a line feed of it
		case 0:
			out = append(out, "\uFFFD"...)
		default:
			out = append(out, c)
		}
	}
	return out
}

// hasDirectionMarks reports whether a text has characters that override or isolate
// the direction of writing, with which code can look like other code.
func hasDirectionMarks(text []byte) bool {
	return bytes.ContainsFunc(text, func(r rune) bool { return r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069' })
}
