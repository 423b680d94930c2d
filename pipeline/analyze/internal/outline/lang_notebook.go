package outline

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"
)

var notebook = table{
	languages: "Jupyter Notebook",
	lexicon:   jsonData.lexicon,
	run:       readNotebook,
}

// notebookText is the source of the code cells of a notebook, and where it is in the file.
type notebookText struct {
	text []byte
	// runs are the parts of the text that are unchanged in the file, in order.
	runs []textRun
}

// textRun begins at offset from of a text, and at offset at of the file.
type textRun struct{ from, at int32 }

// readNotebook records the definitions in the code cells of a notebook of format 4 whose
// kernel speaks Python. The keys of a cell are in the order of their names, as Jupyter writes
// them.
func readNotebook(s scanner) {
	if i := bytes.Index(s.src, []byte(`"kernelspec"`)); i >= 0 {
		kernel := s.src[i:min(len(s.src), i+1024)]
		if at := bytes.Index(kernel, []byte(`"language"`)); at >= 0 && !bytes.Contains(kernel[at:], []byte(`"python"`)) {
			return
		}
	}
	n := &notebookText{}
	code, key := false, ""
	for s.pos < len(s.src) {
		i := bytes.IndexByte(s.src[s.pos:], '"')
		if i < 0 {
			break
		}
		start := s.pos + i
		end := stringEnd(s.src, start)
		s.pos = end
		s.countStep()
		value := string(s.src[start+1 : min(max(end-1, start+1), start+16)])
		switch isKey := followedBy(s.src, end, ':'); {
		case isKey:
			key = value
		case key == "cell_type":
			code, key = value == "code", ""
		case key == "source" && code:
			n.addLine(s.src, start+1, end-1)
			if !followedBy(s.src, end, ',') {
				n.addByte('\n')
				key = ""
			}
		case key != "source":
			key = ""
		}
	}
	inner, found := s, &recorder{src: n.text}
	inner.src, inner.pos, inner.lex, inner.rec = n.text, 0, pythonLexis, found
	runPython(inner)
	s.rec.limited = s.rec.limited || found.limited
	for _, d := range found.defs {
		if d.name, d.parent = n.inFile(d.name), n.inFile(d.parent); d.bodyEnd > 0 {
			d.bodyEnd = n.inFile(span{d.bodyEnd - 1, d.bodyEnd}).end
		}
		if !d.name.isEmpty() {
			s.rec.defs = append(s.rec.defs, d)
		}
	}
}

// stringEnd returns the offset after the string of JSON whose quote is at start.
func stringEnd(src []byte, start int) int {
	for i := start + 1; i < len(src); i++ {
		switch src[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(src)
}

// followedBy reports whether c is the next byte from an offset on, after white space.
func followedBy(src []byte, at int, c byte) bool {
	for at < len(src) && isBlank(src[at]) {
		at++
	}
	return at < len(src) && src[at] == c
}

// addLine adds the string between two offsets of the file, a line or a whole cell. The
// commands of IPython, which begin with % or !, become comments.
func (n *notebookText) addLine(src []byte, start, end int) {
	fresh := len(n.text) == 0 || n.text[len(n.text)-1] == '\n'
	unchanged := false
	for i := start; i < end; {
		c := src[i]
		if c != '\\' || i+1 >= end {
			if !unchanged {
				n.runs = append(n.runs, textRun{int32(len(n.text)), int32(i)})
			}
			if fresh && (c == '%' || c == '!') {
				c = '#'
			}
			n.text = append(n.text, c)
			fresh, unchanged = c == '\n', true
			i++
			continue
		}
		unchanged = false
		size := 2
		switch c := src[i+1]; c {
		case 'n', 'r':
			n.text = append(n.text, '\n')
		case 't':
			n.text = append(n.text, '\t')
		case 'u':
			code, err := strconv.ParseUint(string(src[i+2:min(i+6, end)]), 16, 16)
			if size = 6; err != nil {
				code = '?'
			}
			n.text = utf8.AppendRune(n.text, rune(code))
		default:
			n.text = append(n.text, c)
		}
		fresh = n.text[len(n.text)-1] == '\n'
		i += size
	}
}

func (n *notebookText) addByte(c byte) { n.text = append(n.text, c) }

// inFile returns the range of the file that has the text of s, or an empty one if it is
// written in another way there.
func (n *notebookText) inFile(s span) span {
	i, found := slices.BinarySearchFunc(n.runs, s.start, func(r textRun, at int32) int { return int(r.from - at) })
	if !found {
		i--
	}
	if s.isEmpty() || i < 0 {
		return span{}
	}
	r := n.runs[i]
	at := span{r.at + s.start - r.from, r.at + s.end - r.from}
	if i+1 < len(n.runs) && n.runs[i+1].from < s.end {
		return span{}
	}
	return at
}
