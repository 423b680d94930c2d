package terminal

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// Progress shows people the progress of a long task. Without a terminal it prints only
// the permanent lines.
type Progress struct {
	w        io.Writer
	terminal bool
	drawn    bool
}

// NewProgress returns a display on w.
func NewProgress(w io.Writer) *Progress {
	return &Progress{w: w, terminal: Is(w)}
}

// Update replaces the text on the progress line.
func (p *Progress) Update(text string) {
	if p.terminal {
		_, _ = fmt.Fprint(p.w, "\r\x1b[K", truncateLine(EscapeLine(text), p.terminalWidth()))
		p.drawn = true
	}
}

// Print prints a permanent line above the progress line.
func (p *Progress) Print(text string) {
	p.Close()
	_, _ = fmt.Fprintln(p.w, EscapeLine(text))
}

// Close removes the progress line.
func (p *Progress) Close() {
	if p.drawn {
		_, _ = fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}

// terminalWidth returns the number of columns of the terminal, or 80 if it is unknown.
func (p *Progress) terminalWidth() int {
	if f, ok := p.w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 80
}

// truncateLine keeps text on one line of the terminal, so that it can be redrawn.
func truncateLine(text string, columns int) string {
	runes := []rune(text)
	if len(runes) < columns {
		return text
	}
	return string(runes[:max(columns-2, 0)]) + "…"
}
