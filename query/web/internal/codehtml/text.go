package codehtml

import (
	"bytes"
	"slices"
	"sort"
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
	// The lines from coloredFrom to coloredTo have their colors.
	coloredFrom, coloredTo int
	limit                  int // of the bytes of a line with colors; 0 means no limit
	// more appends what follows the first bytes of a longer line; nil if such lines are shown
	// whole, without colors.
	more func(out []byte, line, hidden int) []byte
}

// New returns a Text, which owns the tokens. They must be in order, and may cover only the
// beginning.
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
	t.coloredTo = t.Lines()
	return t
}

// ColorAround limits the colors to the nearest tokens of a line, or of the nearest line that
// exists: each token with a color is
// an element of the page, and a browser takes minutes for millions.
func (t *Text) ColorAround(line, most int) {
	if len(t.tokens) <= most {
		return
	}
	t.tokens = slices.DeleteFunc(t.tokens, func(x code.Token) bool { return classNames[x.Class] == "" })
	if len(t.tokens) <= most {
		return
	}
	start := uint32(t.starts[min(max(line, 1), t.Lines())-1])
	first := sort.Search(len(t.tokens), func(i int) bool { return t.tokens[i].End > start })
	first = max(min(first-most/2, len(t.tokens)-most), 0)
	if first > 0 {
		t.coloredFrom = t.lineAt(t.tokens[first-1].End-1) + 1
	}
	if first+most < len(t.tokens) {
		t.coloredTo = t.lineAt(t.tokens[first+most].Start) - 1
	}
	t.tokens = t.tokens[first : first+most]
}

// lineAt returns the number of the line with an offset.
func (t *Text) lineAt(offset uint32) int { return sort.SearchInts(t.starts, int(offset)+1) }

// LimitLines limits the colors to lines of at most limit bytes. Of a longer one only the
// first bytes are shown, followed by what more appends for its number and its other bytes;
// if more is nil, or the mark reaches beyond the limit, it is shown whole.
func (t *Text) LimitLines(limit int, more func(out []byte, line, hidden int) []byte) {
	t.limit, t.more = limit, more
}

// Lines returns the number of lines.
func (t *Text) Lines() int { return len(t.starts) - 1 }

// Size returns the size in bytes of the lines from first to last, both from 1.
func (t *Text) Size(first, last int) int { return t.starts[last] - t.starts[first-1] }

// line returns a line with its line ending.
func (t *Text) line(number int) []byte { return t.text[t.starts[number-1]:t.starts[number]] }

// AppendChunks appends the lines from first to last, marked where they are within mark.
// Only the last chunk can be shorter than the other ones: it has another class, because
// the style sheet does not know its height. A chunk without all of its colors has a class
// that lets a script ask for them.
func (t *Text) AppendChunks(out []byte, first, last int, mark Range) []byte {
	for from := first; from <= last; from += ChunkLines {
		to := min(from+ChunkLines-1, last)
		out = append(out, `<div class="chunk`...)
		if to-from+1 < ChunkLines {
			out = append(out, " rest"...)
		}
		if from < t.coloredFrom || to > t.coloredTo {
			out = append(out, " plain"...)
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
