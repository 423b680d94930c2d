package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/terminal"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// printer prints the files that a search found. On a terminal it prints a heading for
// each file, as ripgrep does; otherwise each line begins with its position, as in grep.
type printer struct {
	w     *bufio.Writer
	style terminal.Style
	// context is set if context lines are shown: up to before and after lines around each
	// matching line. Then -- separates groups of lines that are not adjacent.
	context       bool
	before, after int
	// editor is set if lines begin with a path, line and column that editors can open.
	editor bool

	// namesOnly is set if only the names of files are printed, countOnly if only the
	// numbers of their matching lines are, and matchesOnly if only the matches are.
	namesOnly, countOnly, matchesOnly bool

	// maxFiles bounds the printed files, and maxLines the printed lines of each file,
	// which are its best ones. 0 means no bound.
	maxFiles, maxLines int
	// shown holds the lines of the current file that are printed; nil means all.
	shown []int

	files, lines int
	// hidden is set if files or lines with matches were not printed.
	hidden bool
	// next is the line after the last group of the current file, or 0 if it has none.
	next int
	// groups counts the groups of all files.
	groups int
}

func newPrinter(w io.Writer, style terminal.Style) *printer {
	return &printer{w: bufio.NewWriterSize(w, 64<<10), style: style}
}

func (p *printer) flush() error { return p.w.Flush() }

// printFile prints a file with its chunks. A file that matched only by name has none.
// Without context lines, the chunk with the best line comes first.
func (p *printer) printFile(f *wire.SearchFile) {
	if p.maxFiles > 0 && p.files == p.maxFiles {
		p.hidden = true
		return
	}
	p.next, p.shown = 0, nil
	if p.maxLines > 0 && !p.context && len(f.BestLines) > p.maxLines {
		p.shown, p.hidden = f.BestLines[:p.maxLines], true
	}
	name := f.Repository + ":" + f.FileName.Text
	if p.editor {
		name = editorPath(f)
	}
	name = p.style.Link(p.style.Path(p.style.Clean(keepOnLine(name))), f.WebURL)
	headings := p.style.Terminal && !p.editor
	switch {
	case p.namesOnly:
		p.printLine(name)
		p.files++
		return
	case p.countOnly:
		p.printLine(name + ":" + strconv.Itoa(countLines(f.Chunks)))
		p.files++
		return
	case len(f.Chunks) == 0 && p.editor:
		p.printLine(name + ":1:1: ")
	case len(f.Chunks) == 0:
		p.printLine(name)
	case headings:
		if p.files > 0 {
			p.printLine("")
		}
		p.printLine(name)
	}
	p.files++
	chunks := f.Chunks
	if !p.context && len(f.BestLines) > 0 {
		after, _ := slices.BinarySearchFunc(chunks, f.BestLines[0]+1,
			func(c wire.Chunk, line int) int { return cmp.Compare(c.ContentStart.LineNumber, line) })
		chunks = slices.Concat(chunks[max(after-1, 0):after], chunks[:max(after-1, 0)], chunks[after:])
	}
	for i := range chunks {
		c := &chunks[i]
		switch {
		case p.editor:
			p.editorLines(name, c)
		case headings:
			p.printChunk("", c)
		default:
			p.printChunk(name+":", c)
		}
	}
}

// lineBreaks escapes line breaks.
var lineBreaks = strings.NewReplacer("\n", `\n`, "\r", `\r`)

// keepOnLine escapes the line breaks of a name, so that a program that reads lines reads
// the name as one.
func keepOnLine(name string) string { return lineBreaks.Replace(name) }

// countLines returns the number of lines with a match.
func countLines(chunks []wire.Chunk) (count int) {
	for i := range chunks {
		eachLine(&chunks[i], func(_, _ int, _ string, matches []wire.Range) {
			if len(matches) > 0 {
				count++
			}
		})
	}
	return count
}

// printChunk prints the lines of c. A colon follows the number of a matching line, a
// minus sign the number of any other line. Of the context lines, which the server returns
// before and after each match alike, those that are not to be shown are left out.
func (p *printer) printChunk(prefix string, c *wire.Chunk) {
	var matching []int // lines
	if p.before != p.after {
		eachLine(c, func(number, _ int, _ string, matches []wire.Range) {
			if len(matches) > 0 {
				matching = append(matching, number)
			}
		})
	}
	eachLine(c, func(number, offset int, text string, matches []wire.Range) {
		separator := ":"
		if len(matches) == 0 {
			separator = "-"
		}
		if p.shown != nil && !slices.Contains(p.shown, number) {
			return
		}
		if len(matching) > 0 && !slices.ContainsFunc(matching, func(m int) bool { return m-p.before <= number && number <= m+p.after }) {
			return
		}
		if p.context && number != p.next && (p.next > 0 || p.groups > 0 && prefix != "") {
			p.printLine(p.style.Dim("--"))
		}
		if number != p.next {
			p.groups++
		}
		p.next = number + 1
		p.lines++
		prefix := prefix + p.style.Line(strconv.Itoa(number)) + separator
		if p.matchesOnly {
			for _, m := range matches {
				p.printMatch(prefix, text, offset, m)
			}
			return
		}
		if p.style.Terminal {
			text, offset = cutLine(text, offset, matches)
		}
		p.printLine(prefix + p.highlightMatches(text, offset, matches))
	})
}

// printMatch prints the part of a match that is in a line, which begins at offset.
func (p *printer) printMatch(prefix, text string, offset int, m wire.Range) {
	start := min(max(m.Start.ByteOffset-offset, 0), len(text))
	if end := min(m.End.ByteOffset-offset, len(text)); start < end {
		p.printLine(prefix + p.style.Match(p.style.Clean(text[start:end])))
	}
}

const (
	// maxColumns bounds the bytes of a line on a terminal. leadColumns bounds the bytes
	// before the first match of a cut line.
	maxColumns, leadColumns = 400, 80
	ellipsis                = "…"
)

// cutLine cuts a long line around its first match. The line begins at offset. cutLine
// returns the text and the offset at which the text begins.
func cutLine(text string, offset int, matches []wire.Range) (string, int) {
	if len(text) <= maxColumns {
		return text, offset
	}
	from := 0
	if len(matches) > 0 {
		from = max(min(matches[0].Start.ByteOffset-offset, len(text))-leadColumns, 0)
	}
	to := min(from+maxColumns, len(text))
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	cut := text[from:to]
	if to < len(text) {
		cut += ellipsis
	}
	if from == 0 {
		return cut, offset
	}
	return ellipsis + cut, offset + from - len(ellipsis)
}

// editorLines prints the matching lines of c. The column is that of the first match, in
// bytes from 1, as grep and editors count.
func (p *printer) editorLines(name string, c *wire.Chunk) {
	eachLine(c, func(number, offset int, text string, matches []wire.Range) {
		if p.matchesOnly {
			for _, m := range matches {
				place := fmt.Sprintf("%d:%d", number, max(m.Start.ByteOffset-offset, 0)+1)
				p.printMatch(name+":"+p.style.Line(place)+": ", text, offset, m)
			}
			return
		}
		if len(matches) > 0 {
			place := fmt.Sprintf("%d:%d", number, max(matches[0].Start.ByteOffset-offset, 0)+1)
			p.printLine(name + ":" + p.style.Line(place) + ": " + p.highlightMatches(text, offset, matches))
		}
	})
}

// eachLine calls print for each line of c, with the offset at which it begins and the
// matches in it.
func eachLine(c *wire.Chunk, print func(number, offset int, text string, matches []wire.Range)) {
	number, offset := c.ContentStart.LineNumber, c.ContentStart.ByteOffset
	for line := range strings.Lines(c.Content) {
		end := offset + len(line)
		print(number, offset, strings.TrimRight(line, "\r\n"), overlappingRanges(c.MatchRanges, offset, end))
		number, offset = number+1, end
	}
}

// overlappingRanges returns the ranges that overlap [from, to).
func overlappingRanges(ranges []wire.Range, from, to int) []wire.Range {
	var found []wire.Range
	for _, r := range ranges {
		if r.Start.ByteOffset < to && r.End.ByteOffset > from {
			found = append(found, r)
		}
	}
	return found
}

// highlightMatches returns a line with its matches colored. The line begins at offset.
func (p *printer) highlightMatches(text string, offset int, matches []wire.Range) string {
	var b strings.Builder
	at := 0
	for _, m := range matches {
		start := min(max(m.Start.ByteOffset-offset, at), len(text))
		end := min(max(m.End.ByteOffset-offset, start), len(text))
		if start == end {
			continue // the match is in a part that was cut off
		}
		b.WriteString(p.style.Clean(text[at:start]))
		b.WriteString(p.style.Match(p.style.Clean(text[start:end])))
		at = end
	}
	b.WriteString(p.style.Clean(text[at:]))
	return b.String()
}

func (p *printer) printLine(text string) {
	_, _ = p.w.WriteString(text) // a bufio.Writer keeps its error for Flush
	_ = p.w.WriteByte('\n')
}

// editorPath returns the path at which an editor on this machine finds a file. That is
// the path below the current directory if the repository was registered by its path, or
// the path within a checkout whose directory has the name of the repository. If no such
// file exists, it is the path below the name of the repository.
func editorPath(f *wire.SearchFile) string {
	name := path.Join(f.Repository, f.FileName.Text)
	if !filepath.IsLocal(name) || !filepath.IsLocal(f.FileName.Text) {
		return name
	}
	places := []string{"/" + name, name}
	if here, err := os.Getwd(); err == nil && filepath.Base(here) == path.Base(f.Repository) {
		places = append(places, f.FileName.Text)
	}
	for _, place := range places {
		if info, err := os.Stat(place); err == nil && info.Mode().IsRegular() {
			return place
		}
	}
	return name
}
