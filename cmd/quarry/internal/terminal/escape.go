package terminal

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Escape replaces characters that could control a terminal or hide text with visible
// escapes: control characters except for tab and newline, marks that change the direction
// of text, and bytes that are not UTF-8. Inside a JSON string the result has the same
// meaning.
func Escape(text string) string {
	if !strings.ContainsFunc(text, isUnsafe) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case isUnsafe(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// EscapeLine is Escape for text that must stay on one line: it also escapes newlines.
func EscapeLine(text string) string {
	return strings.ReplaceAll(Escape(text), "\n", `\n`)
}

func isUnsafe(r rune) bool {
	switch {
	case r == '\t' || r == '\n':
		return false
	case r < ' ' || (r >= 0x7f && r < 0xa0): // C0, DEL, C1
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // embeddings, overrides, isolates
		return true
	case r == 0x2028 || r == 0x2029: // line and paragraph separators
		return true
	}
	return false
}

// Writer returns a writer to w that is safe for people and programs: w itself or, if w is
// a terminal, a writer that escapes.
func Writer(w io.Writer) io.Writer {
	if !Is(w) {
		return w
	}
	return &escaper{w: w}
}

// escaper escapes text that is written to it.
type escaper struct {
	w    io.Writer
	rest []byte // the beginning of an incomplete character
}

// Write implements io.Writer.
func (e *escaper) Write(p []byte) (int, error) {
	text := append(e.rest, p...)
	end := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if at := len(text) - back; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				end = at
			}
			break
		}
	}
	e.rest = append([]byte(nil), text[end:]...)
	if _, err := io.WriteString(e.w, Escape(string(text[:end]))); err != nil {
		return 0, err
	}
	return len(p), nil
}
