package terminal

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// Progress shows how far a long task is, to people only: without a terminal it
// prints the lines that stay, and nothing else.
type Progress struct {
	w        io.Writer
	terminal bool
	drawn    bool
}

// NewProgress returns a display on w.
func NewProgress(w io.Writer) *Progress {
	return &Progress{w: w, terminal: Is(w)}
}

// Update shows text on the line of the terminal that is redrawn.
func (p *Progress) Update(text string) {
	if p.terminal {
		_, _ = fmt.Fprint(p.w, "\r\x1b[K", truncateLine(EscapeLine(text), p.terminalWidth()))
		p.drawn = true
	}
}

// Print prints a line that stays, above the display.
func (p *Progress) Print(text string) {
	p.Close()
	_, _ = fmt.Fprintln(p.w, EscapeLine(text))
}

// Close removes the display.
func (p *Progress) Close() {
	if p.drawn {
		_, _ = fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}

// terminalWidth returns the columns of the terminal; 80 if it does not say.
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
