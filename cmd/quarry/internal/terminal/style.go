package terminal

import (
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// Is reports whether w is a terminal.
func Is(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Colour says when to colour.
type Colour string

// When to colour.
const (
	ColourAuto   Colour = "auto"
	ColourAlways Colour = "always"
	ColourNever  Colour = "never"
)

// Style colours text, or does not.
type Style struct{ on bool }

// NewStyle decides for the writer w. With ColourAuto it is coloured if it is a
// terminal that is not dumb, and NO_COLOR is not set in environ.
func NewStyle(w io.Writer, c Colour, environ []string) Style {
	switch c {
	case ColourAlways:
		return Style{on: true}
	case ColourNever:
		return Style{}
	}
	refused := slices.ContainsFunc(environ, func(pair string) bool {
		name, value, _ := strings.Cut(pair, "=")
		return name == "NO_COLOR" && value != "" || name == "TERM" && value == "dumb"
	})
	return Style{on: Is(w) && !refused}
}

// On reports whether text is coloured.
func (s Style) On() bool { return s.on }

// The colours are ripgrep's, so that eyes need not learn.

// Path colours the name of a file.
func (s Style) Path(text string) string { return s.wrap("35", text) }

// Line colours a line number.
func (s Style) Line(text string) string { return s.wrap("32", text) }

// Match colours matched text.
func (s Style) Match(text string) string { return s.wrap("1;31", text) }

// Dim colours what is said beside the results.
func (s Style) Dim(text string) string { return s.wrap("2", text) }

func (s Style) wrap(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Clean makes text of a repository harmless for a terminal: control characters
// other than tab become U+FFFD. Without colours, text passes as it is: a
// program wants the bytes.
func (s Style) Clean(text string) string {
	if !s.on || strings.IndexFunc(text, isControl) < 0 {
		return text
	}
	return strings.Map(func(r rune) rune {
		if isControl(r) {
			return utf8.RuneError
		}
		return r
	}, text)
}

func isControl(r rune) bool { return r != '\t' && (r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0)) }
