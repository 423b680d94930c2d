package mcp

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of answers. One token is about three bytes of source code with line numbers.
const (
	bytesPerToken = 3
	// DefaultTokens is the size of an answer unless the call sets maxTokens, which is at
	// most MaxTokens: clients commonly cut at 25,000.
	DefaultTokens, MaxTokens, minTokens = 2000, 16_000, 300
	// maxLineBytes cuts lines of requested text, and maxMatchBytes cuts lines around a
	// match, because minified code and data have very long lines.
	maxLineBytes, maxMatchBytes = 2000, 300
	// noteRoom is reserved for the notes at the end of an answer.
	noteRoom = 400
)

// answerText is the text of an answer, up to most bytes.
type answerText struct {
	b    strings.Builder
	most int
}

// setMaxTokens bounds the answer.
func (a *answerText) setMaxTokens(n int) { a.most = n * bytesPerToken }

// bytesLeft returns how many more bytes fit, without the room reserved for notes.
func (a *answerText) bytesLeft() int { return a.most - noteRoom - a.b.Len() }

// hasRoom reports whether n more bytes fit.
func (a *answerText) hasRoom(n int) bool { return n <= a.bytesLeft() }

// addLinef adds a line.
func (a *answerText) addLinef(format string, args ...any) {
	fmt.Fprintf(&a.b, format, args...)
	a.b.WriteByte('\n')
}

// addLineIfFits adds a line if it fits.
func (a *answerText) addLineIfFits(s string) bool {
	if !a.hasRoom(len(s) + 1) {
		return false
	}
	a.b.WriteString(s)
	a.b.WriteByte('\n')
	return true
}

// addEntry adds an entry of a list if it fits. The first one is cut so that it fits: a
// list in which it did not would never go on.
func (a *answerText) addEntry(s string, isFirst bool) bool {
	if isFirst {
		s = cutText(s, max(a.bytesLeft()-1, 0))
	}
	return a.addLineIfFits(s)
}

// cutLine returns a line of a file without its line end, cut to maxLineBytes.
func cutLine(line []byte) string {
	s := strings.ToValidUTF8(strings.TrimRight(string(line[:min(len(line), maxLineBytes+utf8.UTFMax)]), "\r\n"), "\uFFFD")
	if len(s) <= maxLineBytes {
		return s
	}
	return cutText(s, maxLineBytes) + fmt.Sprintf(" [cut: the line has %d bytes]", len(line))
}

// cutAround returns maxMatchBytes of a line around a match at the offset at, or the line
// without its line end if it is shorter.
func cutAround(line []byte, at int) string {
	line = bytes.TrimRight(line, "\r\n")
	if len(line) <= maxMatchBytes {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	from := max(0, min(at-maxMatchBytes/4, len(line)-maxMatchBytes))
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	before := ""
	if from > 0 {
		before = "… "
	}
	shown := cutText(strings.ToValidUTF8(string(line[from:min(len(line), from+maxMatchBytes+utf8.UTFMax)]), "\uFFFD"), maxMatchBytes)
	return fmt.Sprintf("%s%s … [cut: the line has %d bytes]", before, shown, len(line))
}

// cutText returns at most the first n bytes of s, cut at a character boundary.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// pathText returns a path in the form shown in a line: quoted and escaped if it contains
// line feeds or other characters that do not show, such as marks of direction.
func pathText(path string) string {
	if strings.ContainsFunc(path, func(c rune) bool { return !unicode.IsGraphic(c) }) {
		return strconv.Quote(path)
	}
	return path
}

// formatCount returns a count with its noun, such as "1 match" or "2 matches".
func formatCount(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// addPage adds at most limit lines from an offset on. It returns the offset of the next
// line, or len(lines) if there are no more.
func (a *answerText) addPage(lines []string, offset, limit int) (next int) {
	next = min(offset, len(lines))
	for next < len(lines) && next < offset+limit && a.addLineIfFits(cutLine([]byte(lines[next]))) {
		next++
	}
	return next
}
