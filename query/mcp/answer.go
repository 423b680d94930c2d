package mcp

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of answers.
const (
	// MaxAnswerBytes is about 12,000 tokens: clients commonly cut at 25,000.
	MaxAnswerBytes = 48 << 10
	// maxLineBytes cuts a line: minified code, data.
	maxLineBytes = 2000
	// noteRoom is kept free for the notes at the end of an answer.
	noteRoom = 2 << 10
)

// answer is the text of a call, up to MaxAnswerBytes.
type answer struct{ b strings.Builder }

// fits reports whether n more bytes do.
func (a *answer) fits(n int) bool { return a.b.Len()+n <= MaxAnswerBytes-noteRoom }

// linef adds a line.
func (a *answer) linef(format string, args ...any) {
	fmt.Fprintf(&a.b, format, args...)
	a.b.WriteByte('\n')
}

// line adds a line if it fits.
func (a *answer) line(s string) bool {
	if !a.fits(len(s) + 1) {
		return false
	}
	a.b.WriteString(s)
	a.b.WriteByte('\n')
	return true
}

// cutLine returns a line of a file without its end and without what is behind
// maxLineBytes.
func cutLine(line []byte) string {
	s := strings.ToValidUTF8(strings.TrimRight(string(line[:min(len(line), maxLineBytes+utf8.UTFMax)]), "\r\n"), "\uFFFD")
	if len(s) <= maxLineBytes {
		return s
	}
	return cutText(s, maxLineBytes) + fmt.Sprintf(" [cut: the line has %d bytes]", len(line))
}

// cutText returns at most the first n bytes of s, cut between characters.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// pathText is a path as it is written into a line: with quotes and escapes if it
// has line feeds and the like in it.
func pathText(path string) string {
	if strings.ContainsFunc(path, unicode.IsControl) {
		return strconv.Quote(path)
	}
	return path
}

// plural is "1 match", "2 matches".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// pages adds lines from an offset on, at most limit, and returns the offset of the
// next; it is len(lines) if there are no more.
func (a *answer) pages(lines []string, offset, limit int) (next int) {
	next = min(offset, len(lines))
	for next < len(lines) && next < offset+limit && a.line(cutLine([]byte(lines[next]))) {
		next++
	}
	return next
}
