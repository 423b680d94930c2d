package main

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/terminal"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// printer writes results as ripgrep does: on a terminal a heading per file and
// coloured lines below it; for programs one line per line, with everything that
// is needed to find it in front.
type printer struct {
	w     *bufio.Writer
	style terminal.Style
	files int
}

func newPrinter(w io.Writer, style terminal.Style) *printer {
	return &printer{w: bufio.NewWriterSize(w, 64<<10), style: style}
}

func (p *printer) flush() error { return p.w.Flush() }

// file prints one file with its chunks; a file that matched by its name alone
// has none.
func (p *printer) file(f *wire.SearchFile) {
	name := p.style.Clean(f.Repository + ":" + f.FileName.Text)
	prefix := ""
	switch {
	case len(f.Chunks) == 0:
		p.line(p.style.Path(name))
	case p.style.On():
		if p.files > 0 {
			p.line("")
		}
		p.line(p.style.Path(name))
	default:
		prefix = name + ":"
	}
	p.files++
	for i := range f.Chunks {
		if i > 0 && hasContext(f) {
			p.line(p.style.Dim("--"))
		}
		p.chunk(prefix, &f.Chunks[i])
	}
}

// repository prints the name of a repository that was itself looked for.
func (p *printer) repository(name string) { p.line(p.style.Path(p.style.Clean(name))) }

// hasContext reports whether a chunk of f begins before its first match, so
// that a gap between chunks is worth a mark.
func hasContext(f *wire.SearchFile) bool {
	for _, c := range f.Chunks {
		if len(c.MatchRanges) > 0 && c.MatchRanges[0].Start.LineNumber > c.ContentStart.LineNumber {
			return true
		}
	}
	return false
}

// chunk prints the lines of c; ':' follows the number of a line with a match,
// '-' that of a line around one.
func (p *printer) chunk(prefix string, c *wire.Chunk) {
	number, offset := c.ContentStart.LineNumber, c.ContentStart.ByteOffset
	for line := range strings.Lines(c.Content) {
		end := offset + len(line)
		marks := within(c.MatchRanges, offset, end)
		separator := ":"
		if len(marks) == 0 {
			separator = "-"
		}
		text := strings.TrimRight(line, "\r\n")
		p.line(prefix + p.style.Line(strconv.Itoa(number)) + separator + p.marked(text, offset, marks))
		number, offset = number+1, end
	}
}

// within returns the ranges that overlap [from, to).
func within(ranges []wire.Range, from, to int) []wire.Range {
	var found []wire.Range
	for _, r := range ranges {
		if r.Start.ByteOffset < to && r.End.ByteOffset > from {
			found = append(found, r)
		}
	}
	return found
}

// marked colours the matches of a line that begins at offset.
func (p *printer) marked(text string, offset int, marks []wire.Range) string {
	if !p.style.On() {
		return text
	}
	var b strings.Builder
	at := 0
	for _, m := range marks {
		start := min(max(m.Start.ByteOffset-offset, at), len(text))
		end := min(max(m.End.ByteOffset-offset, start), len(text))
		b.WriteString(p.style.Clean(text[at:start]))
		b.WriteString(p.style.Match(p.style.Clean(text[start:end])))
		at = end
	}
	b.WriteString(p.style.Clean(text[at:]))
	return b.String()
}

func (p *printer) line(text string) {
	_, _ = p.w.WriteString(text) // a bufio.Writer keeps its error for Flush
	_ = p.w.WriteByte('\n')
}
