package terminal

import (
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
)

// Is reports whether w is a terminal.
func Is(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// When is the value of a flag such as --color.
type When string

// These are the values of such flags. Auto means: if the output is a terminal.
const (
	Auto   When = "auto"
	Always When = "always"
	Never  When = "never"
)

// Style defines how results are formatted for people.
type Style struct {
	// Terminal is set if a terminal shows the results.
	Terminal bool
	// Color is set if text is colored, and Links if it links to web pages.
	Color, Links bool
}

// NewStyle returns the style for the writer w. With Auto, text is colored on a terminal
// that is not dumb, unless NO_COLOR is set in environ. Links on such a terminal do not
// depend on NO_COLOR.
func NewStyle(w io.Writer, color, links When, environ []string) Style {
	has := func(name string, match func(value string) bool) bool {
		return slices.ContainsFunc(environ, func(pair string) bool {
			value, found := strings.CutPrefix(pair, name+"=")
			return found && match(value)
		})
	}
	s := Style{Terminal: Is(w)}
	capable := s.Terminal && !has("TERM", func(value string) bool { return value == "dumb" })
	refused := has("NO_COLOR", func(value string) bool { return value != "" })
	s.Color = color == Always || (color != Never && capable && !refused)
	s.Links = links == Always || (links != Never && capable)
	return s
}

// The colors are those of ripgrep, which many people know.

// Path colors the name of a file.
func (s Style) Path(text string) string { return s.wrapColor("35", text) }

// Line colors a line number.
func (s Style) Line(text string) string { return s.wrapColor("32", text) }

// Match colors matched text.
func (s Style) Match(text string) string { return s.wrapColor("1;31", text) }

// Dim dims separators between results.
func (s Style) Dim(text string) string { return s.wrapColor("2", text) }

func (s Style) wrapColor(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Link makes text a link to a web page (OSC 8). It ignores an address that is not http or
// https, because addresses come from a server.
func (s Style) Link(text, address string) string {
	u, err := url.Parse(address)
	if !s.Links || text == "" || err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || Escape(address) != address {
		return text
	}
	return "\x1b]8;;" + u.String() + "\x1b\\" + text + "\x1b]8;;\x1b\\"
}

// Clean makes text of a repository safe for a terminal; see EscapeLine. Without a
// terminal, colors and links, it returns the text unchanged, because a program wants the
// original bytes.
func (s Style) Clean(text string) string {
	if !s.Terminal && !s.Color && !s.Links {
		return text
	}
	return EscapeLine(text)
}
