package codehtml

import (
	"bytes"
	"strconv"

	"github.com/quarrysearch/quarry/schemas/code"
)

// ChunkLines is the number of lines in a chunk. The style sheet contains the height of a
// chunk.
const ChunkLines = 500

// Text is the text of a file, split into lines.
type Text struct {
	text   []byte
	starts []int // offsets of the lines, and the end of the text
	tokens []code.Token
}

// New returns a Text. The tokens must be in order, and may cover only the beginning.
func New(text []byte, tokens []code.Token) *Text {
	t := &Text{text: text, tokens: tokens, starts: make([]int, 0, bytes.Count(text, []byte("\n"))+2)}
	for at := 0; at < len(text); {
		t.starts = append(t.starts, at)
		next := bytes.IndexByte(text[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	t.starts = append(t.starts, len(text))
	return t
}

// Lines returns the number of lines.
func (t *Text) Lines() int { return len(t.starts) - 1 }

// Size returns the size in bytes of the lines from first to last, both from 1.
func (t *Text) Size(first, last int) int { return t.starts[last] - t.starts[first-1] }

// line returns a line with its line ending.
func (t *Text) line(number int) []byte { return t.text[t.starts[number-1]:t.starts[number]] }

// AppendChunks appends the lines from first to last, marked where they are within mark.
// Only the last chunk can be shorter than the other ones: it has another class, because
// the style sheet does not know its height.
func (t *Text) AppendChunks(out []byte, first, last int, mark Range) []byte {
	for from := first; from <= last; from += ChunkLines {
		to := min(from+ChunkLines-1, last)
		out = append(out, `<div class="chunk`...)
		if to-from+1 < ChunkLines {
			out = append(out, " rest"...)
		}
		out = append(out, `">`...)
		out = AppendNumbers(out, from, to)
		out = append(out, `<pre class=t><code>`...)
		out = t.AppendLines(out, from, to, mark)
		out = append(out, "</code></pre></div>\n"...)
	}
	return out
}

// AppendNumbers appends the numbers of lines as one element.
func AppendNumbers(out []byte, from, to int) []byte {
	out = append(out, `<pre class=n aria-hidden=true>`...)
	for n := from; n <= to; n++ {
		out = append(strconv.AppendInt(out, int64(n), 10), '\n')
	}
	return append(out, "</pre>"...)
}

// AppendLines appends the text of lines.
func (t *Text) AppendLines(out []byte, from, to int, mark Range) []byte {
	k := t.cursorAt(from)
	for n := from; n <= to; n++ {
		marked := n >= mark.From.Line && n <= mark.To.Line
		if marked && (n == mark.From.Line || n == from) {
			out = appendMarkStart(out, "span", n == mark.From.Line)
		}
		out = k.appendLine(out, n, mark)
		if marked && (n == mark.To.Line || n == to) {
			out = append(out, "</span>"...)
		}
	}
	return out
}

// AppendWrapped appends the lines as list items, which the browser numbers.
func (t *Text) AppendWrapped(out []byte, first, last int, mark Range) []byte {
	k := t.cursorAt(first)
	for from := first; from <= last; from += ChunkLines {
		to := min(from+ChunkLines-1, last)
		out = append(out, `<ol class="wrapped" start=`...)
		out = append(strconv.AppendInt(out, int64(from), 10), '>')
		for n := from; n <= to; n++ {
			if n >= mark.From.Line && n <= mark.To.Line {
				out = appendMarkStart(out, "li", n == mark.From.Line)
			} else {
				out = append(out, "<li>"...)
			}
			out = k.appendLine(out, n, mark)
		}
		out = append(out, "</ol>\n"...)
	}
	return out
}

// appendMarkStart opens the element of marked lines. The first one gets the focus: a
// browser scrolls there automatically, unless the address names a fragment.
func appendMarkStart(out []byte, element string, first bool) []byte {
	out = append(append(append(out, '<'), element...), ` class=at`...)
	if first {
		out = append(out, ` id=at tabindex=-1 autofocus`...)
	}
	return append(out, '>')
}

// HasDirectionMarks reports whether lines contain characters that override or isolate the
// direction of writing, with which code can be made to look like other code.
func (t *Text) HasDirectionMarks(first, last int) bool {
	return HasDirectionMarks(t.text[t.starts[first-1]:t.starts[last]])
}
