package terminal

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestStyleOffForPrograms(t *testing.T) {
	var out bytes.Buffer
	s := NewStyle(&out, ColourAuto, nil)
	if got := s.Path("a") + s.Match("b") + s.Clean("\x1b[2J"); got != "ab\x1b[2J" {
		t.Errorf("a program receives %q", got)
	}
}

func TestStyleOn(t *testing.T) {
	s := NewStyle(&bytes.Buffer{}, ColourAlways, nil)
	if got := s.Match("x"); got != "\x1b[1;31mx\x1b[0m" {
		t.Errorf("Match = %q", got)
	}
	if got := s.Clean("a\x1b[2J\tb\u009bc"); got != "a\uFFFD[2J\tb\uFFFDc" {
		t.Errorf("Clean = %q", got)
	}
}

func TestProgressLines(t *testing.T) {
	now := time.Unix(0, 0).Add(time.Hour)
	var out bytes.Buffer
	p := NewProgress(&out, func() time.Time { return now })
	p.Update("one")
	p.Update("two") // too soon
	now = now.Add(lineInterval)
	p.Update("three")
	now = now.Add(lineInterval)
	p.Update("three") // nothing new
	p.Print("kept")
	p.Close()
	if got := out.String(); got != "one\nthree\nkept\n" || strings.Contains(got, "\x1b") {
		t.Errorf("got %q", got)
	}
}

func TestTruncate(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{{"abc", 10, "abc"}, {"abcdef", 5, "abc…"}, {"äöüäöü", 4, "äö…"}, {"a", 0, "…"}} {
		if got := truncate(c.text, c.columns); got != c.want {
			t.Errorf("truncate(%q, %d) = %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}
