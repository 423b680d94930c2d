package diffhtml

import (
	"fmt"
	"html"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/query/web/internal/codehtml"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Count returns how many lines of a file were added and removed.
func Count(f *source.FileDiff) (added, removed int) {
	for _, h := range f.Hunks {
		for line := range strings.SplitSeq(h.Body, "\n") {
			switch {
			case strings.HasPrefix(line, "+"):
				added++
			case strings.HasPrefix(line, "-"):
				removed++
			}
		}
	}
	return added, removed
}

// run is a group of consecutive lines that all changed or all did not.
type run struct {
	old, new     []string
	hasChanged   bool
	noFeed       [2]bool // the last line of a side has no line feed
	oldAt, newAt int     // numbers of the first lines
}

// Tokenize returns the tokens of a part of a file, for colors.
type Tokenize func(text []byte) []code.Token

// AppendHunk appends a hunk of a page. Without tokenize, its code has no colors.
func (w *Words) AppendHunk(out []byte, h *source.Hunk, tokenize Tokenize) []byte {
	runs := cutRuns(h)
	old, new := newSide(runs, tokenize, func(r *run) []string { return r.old }), newSide(runs, tokenize, func(r *run) []string { return r.new })
	for _, r := range runs {
		if r.hasChanged {
			out = r.appendChange(out, old, new, w)
		} else {
			out = r.appendContext(out, old, new)
		}
	}
	return out
}

// side is the text of one side of a hunk, of which the first at bytes are written.
type side struct {
	text *codehtml.Cursor
	at   int
}

// newSide joins the lines of one side of all runs.
func newSide(runs []run, tokenize Tokenize, lines func(*run) []string) *side {
	var text []byte
	for i := range runs {
		for _, line := range lines(&runs[i]) {
			text = append(append(text, line...), '\n')
		}
	}
	var tokens []code.Token
	if tokenize != nil {
		tokens = tokenize(text)
	}
	return &side{text: codehtml.New(text, tokens).NewCursor()}
}

// appendNext appends the next n bytes.
func (s *side) appendNext(out []byte, n int) []byte {
	s.at += n
	return s.text.AppendSpan(out, s.at-n, s.at)
}

// cutRuns splits a hunk into runs. A line "\ No newline at end of file" belongs to the
// line before it.
func cutRuns(h *source.Hunk) []run {
	var runs []run
	oldAt, newAt := h.Old.Start, h.New.Start
	var r *run
	last := byte(' ')
	for line := range strings.SplitSeq(h.Body, "\n") {
		sign, text := byte(' '), ""
		if line != "" {
			sign, text = line[0], line[1:]
		}
		if sign == '\\' {
			if r != nil {
				r.noFeed[0] = r.noFeed[0] || last != '+'
				r.noFeed[1] = r.noFeed[1] || last != '-'
			}
			continue
		}
		changed := sign == '+' || sign == '-'
		if r == nil || r.hasChanged != changed || sign == '-' && last == '+' {
			runs = append(runs, run{hasChanged: changed, oldAt: oldAt, newAt: newAt})
			r = &runs[len(runs)-1]
		}
		if sign != '+' {
			r.old = append(r.old, text)
			oldAt++
		}
		if sign != '-' {
			r.new = append(r.new, text)
			newAt++
		}
		last = sign
	}
	return runs
}

// appendContext appends unchanged lines, once for each side.
func (r *run) appendContext(out []byte, old, new *side) []byte {
	out = append(out, `<div class="run">`...)
	out = appendNumbers(out, "go", r.oldAt, len(r.old), "")
	out = appendNumbers(out, "gn", r.newAt, len(r.new), "")
	var text []byte
	for _, line := range r.old {
		text = append(old.appendNext(text, len(line)), '\n')
		old.at++
		new.at += len(line) + 1
	}
	out = append(append(append(out, `<pre class="t old">`...), text...), "</pre>"...)
	out = append(append(append(out, `<pre class="t new twin" aria-hidden="true">`...), text...), "</pre>"...)
	return append(out, "</div>\n"...)
}

// appendChange appends changed lines.
func (r *run) appendChange(out []byte, old, new *side, w *Words) []byte {
	removed, added := w.markWords(r.old, r.new)
	out = append(out, `<div class="run changed">`...)
	if len(r.old) > 0 {
		out = appendNumbers(out, "go", r.oldAt, len(r.old), "−")
		out = old.appendLines(out, `<pre class="t old">`, removed, "del", r.noFeed[0])
	}
	if len(r.new) > 0 {
		out = appendNumbers(out, "gn", r.newAt, len(r.new), "+")
		out = new.appendLines(out, `<pre class="t new">`, added, "ins", r.noFeed[1])
	}
	return append(out, "</div>\n"...)
}

// appendNumbers appends the numbers of lines, with the sign of their side.
func appendNumbers(out []byte, class string, first, lines int, sign string) []byte {
	out = append(append(append(out, `<pre class="n `...), class...), `" aria-hidden="true">`...)
	for n := range lines {
		out = strconv.AppendInt(out, int64(first+n), 10)
		if sign != "" {
			out = append(append(out, ' '), sign...)
		}
		out = append(out, '\n')
	}
	return append(out, "</pre>"...)
}

// appendLines appends the lines of one side, with an element around changed words.
func (s *side) appendLines(out []byte, open string, lines [][]piece, element string, noFeed bool) []byte {
	out = append(out, open...)
	for _, pieces := range lines {
		for _, p := range pieces {
			if p.changed {
				out = append(append(append(out, '<'), element...), '>')
			}
			out = s.appendNext(out, len(p.text))
			if p.changed {
				out = append(append(append(out, "</"...), element...), '>')
			}
		}
		out = append(out, '\n')
		s.at++
	}
	if noFeed {
		out = append(out, `<span class="no-feed">⏎̸</span>`...)
	}
	return append(out, "</pre>"...)
}

// AppendHead appends the line above a hunk: its position, and the context that git shows.
// It links to an address if there is one.
func AppendHead(out []byte, h *source.Hunk, address string) []byte {
	out = append(out, `<div class="hunk-head">`...)
	element := "span"
	if address != "" {
		element = "a"
		out = append(append(append(out, `<a href="`...), html.EscapeString(address)...), '"')
	} else {
		out = append(out, "<span"...)
	}
	out = fmt.Appendf(out, ">@@ −%d,%d +%d,%d</%s> <span>", h.Old.Start, h.Old.Lines, h.New.Start, h.New.Lines, element)
	return append(codehtml.AppendText(out, []byte(h.Heading)), "</span></div>\n"...)
}
