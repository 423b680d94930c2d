package terminal

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestStyleOffForPrograms(t *testing.T) {
	var out bytes.Buffer
	s := NewStyle(&out, Auto, Auto, nil)
	if got := s.Link(s.Path("a"), "https://x/") + s.Match("b") + s.Clean("\x1b[2J"); got != "ab\x1b[2J" {
		t.Errorf("a program receives %q, want \"ab\\x1b[2J\"", got)
	}
}

func TestStyleOn(t *testing.T) {
	s := NewStyle(&bytes.Buffer{}, Always, Never, []string{"NO_COLOR=1"})
	if got := s.Match("x"); got != "\x1b[1;31mx\x1b[0m" {
		t.Errorf("Match = %q, want \"\\x1b[1;31mx\\x1b[0m\"", got)
	}
	if got := s.Clean("a\x1b[2J\tb\u009bc\nd"); got != `a\u001b[2J`+"\tb"+`\u009bc\nd` {
		t.Errorf("Clean = %q", got)
	}
	if got := (Style{Terminal: true}).Clean("\x1b]0;owned\a"); got != `\u001b]0;owned\u0007` {
		t.Errorf("on a terminal without colors Clean = %q", got)
	}
}

func TestLink(t *testing.T) {
	s := Style{Links: true}
	for address, want := range map[string]string{
		"https://code.example/a":          "\x1b]8;;https://code.example/a\x1b\\x\x1b]8;;\x1b\\",
		"":                                "x",
		"/a":                              "x",
		"file:///etc/passwd":              "x",
		"javascript:alert(1)":             "x",
		"https://code.example/\x1b]0;a\a": "x",
	} {
		if got := s.Link("x", address); got != want {
			t.Errorf("Link(%q) = %q, want %q", address, got, want)
		}
	}
}

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"plain äöü 日本\t\n": "plain äöü 日本\t\n",
		"\x1b[31m":         `\u001b[31m`,
		"\r":               `\u000d`,
		"a\u202eb\u2066c":  `a\u202eb\u2066c`,
		"\x9b31m":          `\x9b31m`, // CSI as one byte
		"\u009b31m\x7f":    `\u009b31m\u007f`,
		"\uFFFD":           "\uFFFD",
	} {
		if got := Escape(text); got != want {
			t.Errorf("Escape(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestEscaper writes characters in pieces, and checks that JSON keeps its meaning.
func TestEscaper(t *testing.T) {
	var out bytes.Buffer
	e := &escaper{w: &out}
	for _, b := range []byte("{\"a\":\"ä\u009b日\u202e\x7f\"}\n") {
		if n, err := e.Write([]byte{b}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if want := `{"a":"ä\u009b日\u202e\u007f"}` + "\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	var read map[string]string
	if err := json.Unmarshal(out.Bytes(), &read); err != nil || read["a"] != "ä\u009b日\u202e\x7f" {
		t.Errorf("%v, %q", err, read)
	}
}

// TestProgressWithoutTerminal checks that only the permanent lines are printed.
func TestProgressWithoutTerminal(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress(&out)
	p.Update("one")
	p.Print("kept \x1b[2J")
	p.Update("two")
	p.Close()
	if got := out.String(); got != "kept "+`\u001b[2J`+"\n" {
		t.Errorf("got %q", got)
	}
}

func TestProgressOnTerminal(t *testing.T) {
	var out bytes.Buffer
	p := &Progress{w: &out, terminal: true}
	p.Update("one \x1b[2J")
	p.Print("kept")
	p.Close()
	if got := out.String(); got != "\r\x1b[Kone "+`\u001b[2J`+"\r\x1b[Kkept\n" {
		t.Errorf("got %q", got)
	}
}

func TestTruncate(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{{"abc", 10, "abc"}, {"abcdef", 5, "abc…"}, {"äöüäöü", 4, "äö…"}, {"a", 0, "…"}} {
		if got := truncateLine(c.text, c.columns); got != c.want {
			t.Errorf("truncate(%q, %d) = %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}
