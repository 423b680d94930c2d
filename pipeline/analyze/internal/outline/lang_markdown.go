package outline

import (
	"bytes"

	"github.com/quarrysearch/quarry/schemas/code"
)

var markdown = table{
	languages: "Markdown, RMarkdown",
	lexicon: lexicon{
		letters:  "-'",
		comments: []comment{{open: "<!--", close: "-->"}},
		strings:  []quote{{open: "```", close: "```", multiline: true}, {open: "~~~", close: "~~~", multiline: true}},
	},
	run: readMarkdown,
}

// markdownKinds are the kinds of headings by their level; deeper ones have the last kind.
var markdownKinds = [...]code.SymbolKind{"chapter", "section", "subsection", "subsubsection"}

// markdownReader records the headings of CommonMark, line by line.
type markdownReader struct {
	scanner
	open []markdownHeading // the enclosing headings
	// paragraph is the text of the previous line if a line of "=" or "-" makes it a heading.
	paragraph span
	contained bool // the previous line belongs to a list or a quotation
}

type markdownHeading struct {
	scope
	level int
}

// rawElements are the elements whose text is not Markdown.
var rawElements = []string{"pre", "script", "style", "textarea"}

func readMarkdown(s scanner) {
	m := &markdownReader{scanner: s}
	m.skipFrontMatter()
	for m.pos < len(m.src) {
		m.countStep()
		m.readLine(m.takeLine())
	}
	m.closeHeadings(0, len(m.src))
}

// takeLine returns the next line without its line break.
func (m *markdownReader) takeLine() span {
	start, end := m.pos, len(m.src)
	if i := bytes.IndexByte(m.src[start:], '\n'); i >= 0 {
		end = start + i
	}
	m.pos = min(end+1, len(m.src))
	if end > start && m.src[end-1] == '\r' {
		end--
	}
	return span{int32(start), int32(end)}
}

// skipFrontMatter skips the data between two lines of "---" or "+++" at the beginning.
func (m *markdownReader) skipFrontMatter() {
	first := m.takeLine()
	mark := string(m.src[first.start:first.end])
	if mark == "---" || mark == "+++" {
		for m.pos < len(m.src) {
			if line := m.takeLine(); string(m.src[line.start:line.end]) == mark {
				return
			}
		}
	}
	m.pos = int(first.start)
}

func (m *markdownReader) readLine(line span) {
	text := line
	for text.start < text.end && m.src[text.start] == ' ' {
		text.start++
	}
	for text.start < text.end && isBlank(m.src[text.end-1]) {
		text.end--
	}
	above := m.paragraph
	m.paragraph = span{}
	rest := m.src[text.start:text.end]
	switch indented := text.start-line.start > 3; {
	case len(rest) == 0:
		m.contained = false
	case m.skipFence(rest):
	case indented || rest[0] == '\t':
	case rest[0] == '#' && m.readHash(text):
		m.contained = false
	case !above.isEmpty() && isRun(rest, rest[0]) && (rest[0] == '=' || rest[0] == '-'):
		level := 1
		if rest[0] == '-' {
			level = 2
		}
		m.addHeading(above, level)
	case isRun(rest, rest[0]): // a thematic break
	case rest[0] == '<':
		m.skipRaw(text)
	case rest[0] == '>' || rest[0] == '|' || isListItem(rest):
		m.contained = true
	case !m.contained:
		m.paragraph = text
	}
}

// isRun reports whether text consists of the byte c.
func isRun(text []byte, c byte) bool { return len(bytes.Trim(text, string(c))) == 0 }

// isListItem reports whether a line begins with the mark of a list item.
func isListItem(line []byte) bool {
	n := 0
	for n < len(line) && line[n] >= '0' && line[n] <= '9' {
		n++
	}
	if n == len(line) || n > 0 && line[n] != '.' && line[n] != ')' || n == 0 && line[0] != '-' && line[0] != '*' && line[0] != '+' {
		return false
	}
	return n+1 == len(line) || isBlank(line[n+1])
}

// skipFence skips the lines of a fenced block that the line opens, in a list or a quotation
// too, and reports whether it does.
func (m *markdownReader) skipFence(line []byte) bool {
	for len(line) > 0 && (line[0] == '>' || isBlank(line[0]) || isListItem(line)) {
		if isListItem(line) {
			_, line, _ = bytes.Cut(line, []byte{' '})
			continue
		}
		line = line[1:]
	}
	n := fenceLength(line)
	if n == 0 || line[0] == '`' && bytes.IndexByte(line[n:], '`') >= 0 {
		return false
	}
	for m.pos < len(m.src) {
		m.countStep()
		end := m.takeLine()
		inner := bytes.Trim(m.src[end.start:end.end], " \t>")
		if len(inner) >= n && inner[0] == line[0] && isRun(inner, line[0]) {
			break
		}
	}
	return true
}

// fenceLength returns the number of backticks or tildes that begin a fence, at least 3, or 0.
func fenceLength(line []byte) int {
	if len(line) == 0 || line[0] != '`' && line[0] != '~' {
		return 0
	}
	n := len(line) - len(bytes.TrimLeft(line, string(line[0])))
	if n < 3 {
		return 0
	}
	return n
}

// readHash records a heading with one to six "#", and reports whether the line is one.
func (m *markdownReader) readHash(text span) bool {
	line := m.src[text.start:text.end]
	level := len(line) - len(bytes.TrimLeft(line, "#"))
	if level > 6 || level < len(line) && !isBlank(line[level]) {
		return false
	}
	name := span{text.start + int32(level), text.end}
	closing := name.end
	for closing > name.start && m.src[closing-1] == '#' {
		closing--
	}
	if closing > name.start && isBlank(m.src[closing-1]) {
		name.end = closing // the marks at the end are no part of the text
	}
	for name.start < name.end && isBlank(m.src[name.start]) {
		name.start++
	}
	for name.start < name.end && isBlank(m.src[name.end-1]) {
		name.end--
	}
	m.addHeading(name, level)
	return true
}

func (m *markdownReader) addHeading(name span, level int) {
	m.closeHeadings(level, int(name.start))
	in := scope{}
	if n := len(m.open); n > 0 {
		in = m.open[n-1].scope
	}
	kind := markdownKinds[min(level, len(markdownKinds))-1]
	def := m.rec.add(name, kind, in)
	m.open = append(m.open, markdownHeading{scope{name: name, kind: kind, def: def}, level})
}

// closeHeadings ends the headings of a level and below at an offset.
func (m *markdownReader) closeHeadings(level, end int) {
	for n := len(m.open); n > 0 && m.open[n-1].level >= level; n-- {
		m.rec.close(m.open[n-1].def, end)
		m.open = m.open[:n-1]
	}
}

// skipRaw skips a comment, and an element whose text is not Markdown.
func (m *markdownReader) skipRaw(text span) {
	line := m.src[text.start:text.end]
	end := ""
	if bytes.HasPrefix(line, []byte("<!--")) {
		end = "-->"
	}
	for _, name := range rawElements {
		if len(line) > len(name) && bytes.EqualFold(line[1:len(name)+1], []byte(name)) && (len(line) == len(name)+1 || line[len(name)+1] == '>' || isBlank(line[len(name)+1])) {
			end = "</" + name
		}
	}
	if end == "" {
		return
	}
	for m.pos = int(text.start) + 1; m.pos < len(m.src); m.pos++ {
		i := bytes.IndexByte(m.src[m.pos:], end[0])
		if i < 0 {
			break
		}
		if m.pos += i; len(m.src)-m.pos >= len(end) && bytes.EqualFold(m.src[m.pos:m.pos+len(end)], []byte(end)) {
			m.takeLine()
			return
		}
	}
	m.pos = len(m.src)
}
