package terminal

import (
	"fmt"
	"io"
	"time"

	"golang.org/x/term"
	"os"
)

// lineInterval is how often a program that is not a terminal gets a line.
const lineInterval = 5 * time.Second

// Progress shows how far a long task is.
type Progress struct {
	w        io.Writer
	terminal bool
	now      func() time.Time
	last     time.Time
	lastText string
	drawn    bool
}

// NewProgress returns a display on w. now is the clock.
func NewProgress(w io.Writer, now func() time.Time) *Progress {
	return &Progress{w: w, terminal: Is(w), now: now}
}

// Update shows text: on a terminal it redraws the line; elsewhere it prints a
// line if the text has changed and the last one is a while ago.
func (p *Progress) Update(text string) {
	if p.terminal {
		_, _ = fmt.Fprint(p.w, "\r\x1b[K", truncate(text, p.width()))
		p.drawn = true
		return
	}
	if text == p.lastText || p.now().Sub(p.last) < lineInterval {
		return
	}
	p.last, p.lastText = p.now(), text
	_, _ = fmt.Fprintln(p.w, text)
}

// Print prints a line that stays, above the display.
func (p *Progress) Print(text string) {
	p.clear()
	_, _ = fmt.Fprintln(p.w, text)
}

// Close removes the display.
func (p *Progress) Close() { p.clear() }

func (p *Progress) clear() {
	if p.drawn {
		_, _ = fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}

// width returns the columns of the terminal; 80 if it does not say.
func (p *Progress) width() int {
	if f, ok := p.w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 80
}

// truncate keeps text on one line of the terminal, so that it can be redrawn.
func truncate(text string, columns int) string {
	runes := []rune(text)
	if len(runes) < columns {
		return text
	}
	return string(runes[:max(columns-2, 0)]) + "…"
}
