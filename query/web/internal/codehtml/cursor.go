package codehtml

import (
	"bytes"
	"sort"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Cursor writes spans of a Text in ascending order. It belongs to one goroutine.
type Cursor struct {
	*Text
	next int // the first token that may overlap the next span
}

// NewCursor returns a Cursor at the beginning of the text.
func (t *Text) NewCursor() *Cursor { return &Cursor{Text: t} }

func (t *Text) cursorAt(line int) *Cursor {
	start := uint32(t.starts[line-1])
	return &Cursor{t, sort.Search(len(t.tokens), func(i int) bool { return t.tokens[i].End > start })}
}

// classNames are the classes of tokens in the style sheet; a token without one is plain
// text.
var classNames = [...]string{
	code.TokenComment: "c", code.TokenString: "s", code.TokenNumber: "n", code.TokenKeyword: "k", code.TokenDefinition: "d", code.TokenOperator: "",
}

// appendLine appends a line with its line ending. Of a line above the limit it appends the
// beginning, or all of it without colors, also if more than the beginning is marked.
func (k *Cursor) appendLine(out []byte, number int, mark Range) []byte {
	start, end := k.starts[number-1], k.starts[number]
	from, to := mark.columnsOf(number, k.line(number))
	if k.limit > 0 && end-start > k.limit {
		text := bytes.TrimSuffix(bytes.TrimSuffix(k.line(number), []byte("\n")), []byte("\r"))
		shown := text
		if k.more != nil && to <= k.limit {
			shown = text[:min(k.limit, len(text))]
			for len(shown) < len(text) && len(shown) > k.limit-utf8.UTFMax && !utf8.RuneStart(text[len(shown)]) {
				shown = shown[:len(shown)-1]
			}
		}
		from, to = min(from, len(shown)), min(to, len(shown))
		out = k.appendPlain(out, start, start+from)
		if from < to {
			out = append(k.appendPlain(append(out, "<mark>"...), start+from, start+to), "</mark>"...)
		}
		out = k.appendPlain(out, start+to, start+len(shown))
		if len(shown) < len(text) {
			out = k.more(out, number, len(text)-len(shown))
		}
		return k.appendPlain(out, start+len(text), end)
	}
	if from < to {
		out = k.AppendSpan(out, start, start+from)
		out = append(k.AppendSpan(append(out, "<mark>"...), start+from, start+to), "</mark>"...)
		return k.AppendSpan(out, start+to, end)
	}
	return k.AppendSpan(out, start, end)
}

// AppendSpan appends the text from one byte offset to another, within a line and not
// before the last span.
func (k *Cursor) AppendSpan(out []byte, at, end int) []byte {
	for ; k.next < len(k.tokens) && int(k.tokens[k.next].Start) < end; k.next++ {
		token := k.tokens[k.next]
		from, to := max(int(token.Start), at), min(int(token.End), end)
		if to > from {
			name := classNames[token.Class]
			if name != "" {
				out = append(k.appendPlain(out, at, from), "<span class="...)
				out = append(append(out, name...), '>')
				out = append(k.appendPlain(out, from, to), "</span>"...)
				at = to
			}
		}
		if int(token.End) > end {
			break // its rest is in the following spans
		}
	}
	return k.appendPlain(out, at, end)
}

// appendPlain appends text without tokens. The end of the line is inside the tags of a
// comment over several lines, or after them: that makes no difference on a page.
func (k *Cursor) appendPlain(out []byte, from, to int) []byte {
	if from >= to {
		return out
	}
	// AppendText looks ahead for the line feed after a carriage return.
	if k.text[to-1] == '\r' && to < len(k.text) && k.text[to] != '\n' {
		out = AppendText(out, k.text[from:to-1])
		return appendOdd(out, k.text, to-1, 0, 1)
	}
	return AppendText(out, k.text[from:to])
}
