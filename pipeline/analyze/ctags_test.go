package analyze

import (
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/analyze/ctags"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestCtags checks that languages without a grammar get symbols only with ctags, that
// ctags does not read other languages, and that a file that exceeds its time is partial.
func TestCtags(t *testing.T) {
	program, err := exec.LookPath("ctags")
	if err != nil && os.Getenv("QUARRY_REQUIRE_ALL") != "1" {
		t.Skip("universal-ctags is missing: ", err)
	}
	open := func(timeout time.Duration) *ctags.Pool {
		p, err := ctags.Open(t.Context(), ctags.Options{
			Program: program, TempDir: t.TempDir(), Processes: 1, Timeout: timeout, Metrics: ctags.NewMetrics(nil), Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		return p
	}
	with, without := New(Options{Ctags: open(time.Hour)}), New(Options{})
	hurried := New(Options{Ctags: open(time.Nanosecond)})
	for _, c := range []struct {
		path, text string
		symbols    int
	}{
		{"a.tcl", "proc x {} {}\n", 1},
		{"a.vim", "function! F()\nendfunction\n", 1},
		{"notes.txt", "function! F()\nendfunction\n", 0},
	} {
		if r := with.Document(c.path, []byte(c.text)); len(r.Symbols) != c.symbols || r.SymbolsFailed != nil {
			t.Errorf("%s: %v, %v; want %d symbols", c.path, r.Symbols, r.SymbolsFailed, c.symbols)
		}
		if r := without.Document(c.path, []byte(c.text)); len(r.Symbols) != 0 || r.SymbolsFailed != nil {
			t.Errorf("%s without ctags: %v, %v", c.path, r.Symbols, r.SymbolsFailed)
		}
		long := strings.Repeat(c.text, 20_000) // so that ctags is not faster than the timer
		r := hurried.Document(c.path, []byte(long))
		if want := c.symbols > 0; (r.Flags.PartialSymbols() == code.PartialTimeout) != want || string(r.Text) != long {
			t.Errorf("%s in no time: %d bytes, %v", c.path, len(r.Text), r.SymbolsFailed)
		}
	}
	if r := hurried.Document("a.go", []byte("package p\nfunc f() {}\n")); len(r.Symbols) != 2 || r.SymbolsFailed != nil {
		t.Errorf("Go: %v, %v", r.Symbols, r.SymbolsFailed)
	}
}
