package ctags

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/quarrysearch/quarry/schemas/code"
)

// requireCtags returns the path of a universal-ctags that has a sandbox.
func requireCtags(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("ctags")
	if err == nil {
		_, _, err = examineProgram(t.Context(), path)
	}
	switch {
	case err == nil:
		return path
	case os.Getenv("QUARRY_REQUIRE_ALL") == "1":
		t.Fatal(err)
	}
	t.Skip("universal-ctags with sandbox and JSON is missing: ", err)
	return ""
}

func openPool(t testing.TB, program string, change func(*Options)) *Pool {
	t.Helper()
	o := Options{Program: program, TempDir: t.TempDir(), Processes: 1, Timeout: time.Hour, Metrics: NewMetrics(nil), Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	p, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// describe formats symbols, one per line: kind, name, parent and line range.
func describe(t *testing.T, text string, symbols []code.Symbol) string {
	var b strings.Builder
	for _, s := range symbols {
		if got := text[s.Offset:][:len(s.Name)]; got != s.Name {
			t.Errorf("at %d is %q, not %q", s.Offset, got, s.Name)
		}
		fmt.Fprintf(&b, "%s %s", s.Kind, s.Name)
		if s.Parent != "" {
			fmt.Fprintf(&b, " in %s %s", s.ParentKind, s.Parent)
		}
		fmt.Fprintf(&b, " %d-%d\n", s.Line, s.EndLine)
	}
	return b.String()
}

func TestFindSymbols(t *testing.T) {
	p := openPool(t, requireCtags(t), nil)
	for _, c := range []struct {
		language   code.Language
		text, want string
	}{
		{"Tcl", "namespace eval foo {\n  proc foo::bar {a} { return 1 }\n}\nproc bar {} {}\n",
			"namespace foo 1-3\nfunction bar in namespace foo 2-2\nfunction bar 4-4\n"},
		{"Vim Script", "\" vim: set ft=c :\nfunction! s:Foo()\nendfunction\ncommand! Bar echo 1\n", "function s:Foo 2-3\ncommand Bar 4-0\n"},
		{"Awk", "function f(x) { return x }\nfunction f(y) {}\r\n", "function f 1-0\nfunction f 2-0\n"},
		{"Ada", "package body P is\n   procedure Run is\n   begin\n      null;\n   end Run;\nend P;\n", "package P 1-0\nfunction Run in package P 2-0\n"},
		{"Tcl", "", ""},
		{"Tcl", "\xff\x00proc \xfe {", ""},
		{"Klingon", "proc x {} {}", ""},
	} {
		symbols, err := p.FindSymbols(c.language, []byte(c.text))
		if got := describe(t, c.text, symbols); err != nil || got != c.want {
			t.Errorf("%s %q: %v\n%s\nwant\n%s", c.language, c.text, err, got, c.want)
		}
	}
}

// TestEveryLanguageIsRead checks that ctags knows every name: an unknown one would be
// omitted silently.
func TestEveryLanguageIsRead(t *testing.T) {
	p := openPool(t, requireCtags(t), nil)
	for language := range ctagsNames {
		if !p.Supports(language) {
			t.Errorf("ctags does not read %s", language)
		}
		if _, err := p.FindSymbols(language, []byte("a\n")); err != nil {
			t.Errorf("%s: %v", language, err)
		}
	}
	for kind := range kindNames {
		if p.kinds[kind] == "" {
			t.Errorf("ctags has no kind %s", kind)
		}
	}
}

func TestKilledProcessIsReplaced(t *testing.T) {
	p := openPool(t, requireCtags(t), nil)
	text := "proc x {} {}\n"
	for range 3 {
		s := <-p.slots
		if s.process != nil {
			if err := s.process.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		p.slots <- s
		symbols, err := p.FindSymbols("Tcl", []byte(text))
		if got := describe(t, text, symbols); err != nil || got != "function x 1-1\n" {
			t.Fatalf("%v, %s", err, got)
		}
	}
	if n := testutil.ToFloat64(p.o.Metrics.restarts.WithLabelValues(resultOf(errClosed, reasonCrash))); n != 3 {
		t.Errorf("%v restarts, want 3", n)
	}
}

// writeProgram writes a fake ctags that answers requests with the given shell commands.
func writeProgram(t *testing.T, features, answer string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ctags")
	script := `#!/bin/sh
case "$2" in
--list-features) printf '%s\n' ` + features + `; exit ;;
--list-languages) echo Tcl; exit ;;
--list-kinds-full) echo "Tcl p procedure yes"; exit ;;
esac
echo '{"_type":"program"}'
` + answer + "\n"
	// A process that a parallel test forks would inherit the open file until it runs its own
	// program, and the kernel does not execute a file that is open for writing.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	allFeatures = "interactive sandbox json"
	tagOfX      = `echo '{"_type":"tag","name":"x","kind":"procedure","line":1}'` + "\n"
	completed   = `echo '{"_type":"completed"}'` + "\n"
)

// TestBadPrograms checks that FindSymbols returns whatever a process does, with the symbols
// that were found in time.
func TestBadPrograms(t *testing.T) {
	const read, deaf = "read -r request\n", "exec sleep 60"
	for _, c := range []struct {
		name, answer string
		want         error
		symbols      int
		restarts     float64
	}{
		{"dies of the file", read + "kill -9 $$", ErrFailed, 0, 2},
		{"dies in the answer", read + tagOfX + "exit 1", ErrFailed, 0, 2},
		{"says no JSON", read + "echo hello; exec cat", ErrFailed, 0, 2},
		{"refuses", read + `echo '{"_type":"error","message":"no"}'; exec cat`, ErrFailed, 0, 2},
		{"hangs", read + tagOfX + "exec sleep 60", ErrTimeout, 1, 1},
		{"does not read", deaf, ErrTimeout, 0, 1},
		{"ends no line", read + "exec 3<&0; exec tr '\\0' a </dev/zero", ErrLimit, 0, 1},
		{"has long names", read + tagOfX + `printf '{"_type":"tag","name":"%070000d"}\n' 1` + "\n" + tagOfX + completed + "exec cat", nil, 1, 0},
		{"lies", read + `echo '{"_type":"tag","name":"x","kind":"made up","line":1}'; echo '{"_type":"tag","name":"x","kind":"procedure","line":9}'; echo '{"_type":"tag","name":"zz","kind":"procedure","line":1}'` + "\n" + completed + "exec cat", nil, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := openPool(t, writeProgram(t, allFeatures, c.answer), func(o *Options) {
				if errors.Is(c.want, ErrTimeout) {
					o.Timeout = 200 * time.Millisecond
				}
			})
			text := "proc x {}\n"
			if c.answer == deaf {
				text += strings.Repeat("#\n", 1<<20) // more than fits into a pipe
			}
			symbols, err := p.FindSymbols("Tcl", []byte(text))
			if !errors.Is(err, c.want) || len(symbols) > c.symbols || c.want == nil && len(symbols) < c.symbols {
				t.Errorf("%d symbols, %v; want at most %d, %v", len(symbols), err, c.symbols, c.want)
			}
			var restarts float64
			for _, reason := range []string{reasonCrash, resultTimeout, resultLimit} {
				restarts += testutil.ToFloat64(p.o.Metrics.restarts.WithLabelValues(reason))
			}
			if restarts != c.restarts {
				t.Errorf("%v restarts, want %v", restarts, c.restarts)
			}
		})
	}
}

// TestProgramGoesAway checks that files are read without symbols once the program is
// missing, and that later files do not wait.
func TestProgramGoesAway(t *testing.T) {
	program := writeProgram(t, allFeatures, "exit 1")
	p := openPool(t, program, nil)
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if _, err := p.FindSymbols("Tcl", []byte("proc x {}\n")); !errors.Is(err, ErrFailed) {
			t.Fatal(err)
		}
	}
	if n := testutil.ToFloat64(p.o.Metrics.files.WithLabelValues(resultFailed)); n != 1000 {
		t.Errorf("%v files failed, want 1000", n)
	}
}

func TestLimits(t *testing.T) {
	p := openPool(t, requireCtags(t), nil)
	symbols, err := p.FindSymbols("Tcl", []byte(strings.Repeat("proc x {} {}\n", code.MaxSymbolsPerDocument+1)))
	if !errors.Is(err, ErrLimit) || len(symbols) != code.MaxSymbolsPerDocument {
		t.Errorf("%d symbols, %v", len(symbols), err)
	}
	if _, err := p.FindSymbols("Tcl", make([]byte, maxTextBytes+1)); !errors.Is(err, ErrLimit) {
		t.Error(err)
	}
	if symbols, err = p.FindSymbols("Tcl", []byte("proc x {} {}\n")); err != nil || len(symbols) != 1 {
		t.Errorf("afterwards: %d symbols, %v", len(symbols), err)
	}
}

func TestUnusablePrograms(t *testing.T) {
	for _, c := range []struct{ program, want string }{
		{"ctags", "not an absolute path"},
		{"/nonexistent/ctags", "no such file"},
		{writeProgram(t, "interactive json", ""), `built without "sandbox"`},
		{writeProgram(t, "interactive sandbox", ""), `built without "json"`},
	} {
		_, err := Open(context.Background(), Options{Program: c.program, TempDir: t.TempDir(), Metrics: NewMetrics(nil), Logger: slog.New(slog.DiscardHandler)})
		if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "leave the setting empty") {
			t.Errorf("%s: %v; want %s", c.program, err, c.want)
		}
	}
	directory := t.TempDir()
	program := writeProgram(t, allFeatures, "")
	if err := os.WriteFile(program, []byte(strings.Replace(read(t, program), `echo '{"_type":"program"}'`, "exit 31", 1)), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Open(context.Background(), Options{Program: program, TempDir: directory, Metrics: NewMetrics(nil), Logger: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), "does not run in its sandbox") {
		t.Error(err)
	}
	if left, _ := os.ReadDir(directory); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestPlaceTags(t *testing.T) {
	kinds := newKindSet([]string{"procedure", "class", "section"})
	text := "\nxy x = x; class A.b\n  m\nend"
	for _, c := range []struct {
		tags []tag
		want string
	}{
		{[]tag{{Name: "x", Kind: "procedure", Line: 2}, {Name: "x", Kind: "procedure", Line: 2}, {Name: "x", Kind: "procedure", Line: 2}}, "function x 2-0\nfunction x 2-0\n"},
		{[]tag{{Name: "m", Kind: "procedure", Line: 3, Scope: "x.A.b", ScopeKind: "class", End: 4}, {Name: "A.b", Kind: "class", Line: 2, End: 9}}, "class A.b 2-0\nfunction m in class A.b 3-4\n"},
		{[]tag{{Name: "m", Kind: "procedure", Line: 3, Scope: "::q::r", ScopeKind: "class", End: 1}}, "function m in class r 3-0\n"},
		{[]tag{{Name: "m", Kind: "procedure", Line: 3, Scope: strings.Repeat("q.", maxScopeNames) + "r", ScopeKind: "class"}}, "function m 3-0\n"},
		{[]tag{{Name: "m", Kind: "procedure", Line: 3, Scope: "q", ScopeKind: "made up"}}, "function m 3-0\n"},
		{[]tag{{Name: "m", Kind: "other", Line: 3}, {Name: "m", Kind: "procedure"}, {Name: "m", Kind: "procedure", Line: 5}, {Name: "xy x\n", Kind: "procedure", Line: 2}}, ""},
	} {
		if got := describe(t, text, placeTags([]byte(text), c.tags, kinds)); got != c.want {
			t.Errorf("%+v:\n%s\nwant\n%s", c.tags, got, c.want)
		}
	}
}
