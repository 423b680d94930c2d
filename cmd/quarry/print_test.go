package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/terminal"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

func locationAt(offset, line int) wire.Location {
	return wire.Location{ByteOffset: offset, LineNumber: line}
}

func sampleFile() *wire.SearchFile {
	f := &wire.SearchFile{Repository: "demo", WebURL: "https://code.example/demo/a/b.go", Chunks: []wire.Chunk{
		{Content: "one\ntwo two\n", ContentStart: locationAt(100, 7), MatchRanges: []wire.Range{
			{Start: locationAt(104, 8), End: locationAt(107, 8)}, {Start: locationAt(108, 8), End: locationAt(111, 8)},
		}},
		{Content: "two\r\nthree", ContentStart: locationAt(200, 20), MatchRanges: []wire.Range{{Start: locationAt(202, 20), End: locationAt(207, 21)}}},
	}}
	f.FileName.Text = "a/b.go"
	return f
}

// adjacentFile returns a file with two adjacent chunks.
func adjacentFile() *wire.SearchFile {
	f := sampleFile()
	f.Chunks[1].ContentStart.LineNumber = 9
	return f
}

func hostileFile() *wire.SearchFile {
	f := &wire.SearchFile{Repository: "demo", WebURL: "https://code.example/\x1b]0;x\a", Chunks: []wire.Chunk{
		{Content: "a\x1b]0;owned\ab\n", ContentStart: locationAt(0, 1), MatchRanges: []wire.Range{{Start: locationAt(1, 1), End: locationAt(3, 1)}}},
	}}
	f.FileName.Text = "\x1b[2J\u202e.go"
	return f
}

func TestPrinter(t *testing.T) {
	named := &wire.SearchFile{Repository: "demo"}
	named.FileName.Text = "two.txt"
	var (
		piped    = terminal.Style{}
		screen   = terminal.Style{Terminal: true}
		colored  = terminal.Style{Terminal: true, Color: true}
		linked   = terminal.Style{Terminal: true, Links: true}
		colorful = terminal.Style{Color: true} // --color=always | less -R
	)
	for _, c := range []struct {
		name            string
		style           terminal.Style
		context, editor bool
		files           []*wire.SearchFile
		want            string
	}{
		{"program", piped, false, false, []*wire.SearchFile{sampleFile(), named}, "" +
			"demo:a/b.go:7-one\ndemo:a/b.go:8:two two\ndemo:a/b.go:20:two\ndemo:a/b.go:21:three\ndemo:two.txt\n"},
		{"program, context", piped, true, false, []*wire.SearchFile{sampleFile(), adjacentFile()}, "" +
			"demo:a/b.go:7-one\ndemo:a/b.go:8:two two\n--\ndemo:a/b.go:20:two\ndemo:a/b.go:21:three\n" +
			"--\ndemo:a/b.go:7-one\ndemo:a/b.go:8:two two\ndemo:a/b.go:9:two\ndemo:a/b.go:10:three\n"},
		{"terminal, context", screen, true, false, []*wire.SearchFile{sampleFile(), adjacentFile()}, "" +
			"demo:a/b.go\n7-one\n8:two two\n--\n20:two\n21:three\n\ndemo:a/b.go\n7-one\n8:two two\n9:two\n10:three\n"},
		{"terminal without colors", screen, false, false, []*wire.SearchFile{sampleFile(), sampleFile()}, "" +
			"demo:a/b.go\n7-one\n8:two two\n20:two\n21:three\n\ndemo:a/b.go\n7-one\n8:two two\n20:two\n21:three\n"},
		{"terminal", colored, false, false, []*wire.SearchFile{sampleFile()}, "" +
			"\x1b[35mdemo:a/b.go\x1b[0m\n\x1b[32m7\x1b[0m-one\n" +
			"\x1b[32m8\x1b[0m:\x1b[1;31mtwo\x1b[0m \x1b[1;31mtwo\x1b[0m\n" +
			"\x1b[32m20\x1b[0m:tw\x1b[1;31mo\x1b[0m\n\x1b[32m21\x1b[0m:\x1b[1;31mth\x1b[0mree\n"},
		{"colors through a pipe", colorful, false, false, []*wire.SearchFile{named}, "\x1b[35mdemo:two.txt\x1b[0m\n"},
		{"links", linked, false, false, []*wire.SearchFile{sampleFile()}, "" +
			"\x1b]8;;https://code.example/demo/a/b.go\x1b\\demo:a/b.go\x1b]8;;\x1b\\\n7-one\n8:two two\n20:two\n21:three\n"},
		{"editor", piped, true, true, []*wire.SearchFile{sampleFile(), named}, "" +
			"demo/a/b.go:8:1: two two\ndemo/a/b.go:20:3: two\ndemo/a/b.go:21:1: three\ndemo/two.txt:1:1: \n"},
		{"hostile, terminal", linked, false, false, []*wire.SearchFile{hostileFile()}, "" +
			`demo:\u001b[2J\u202e.go` + "\n1:a" + `\u001b]0;owned\u0007b` + "\n"},
		{"hostile, colors through a pipe", colorful, false, false, []*wire.SearchFile{hostileFile()}, "" +
			"\x1b[35m" + `demo:\u001b[2J\u202e.go` + "\x1b[0m:\x1b[32m1\x1b[0m:a\x1b[1;31m" + `\u001b]` + "\x1b[0m" + `0;owned\u0007b` + "\n"},
		{"hostile, program", piped, false, false, []*wire.SearchFile{hostileFile()}, "demo:\x1b[2J\u202e.go:1:a\x1b]0;owned\ab\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			p := newPrinter(&out, c.style)
			p.context, p.editor = c.context, c.editor
			for _, f := range c.files {
				p.printFile(f)
			}
			if err := p.flush(); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != c.want {
				t.Errorf("got\n%q\nwant\n%q", got, c.want)
			}
		})
	}
}

// TestPage checks which part of many files and lines a page on a terminal shows: the
// first files, and the best lines of each in file order.
func TestPage(t *testing.T) {
	var out bytes.Buffer
	p := newPrinter(&out, terminal.Style{Terminal: true})
	p.maxFiles, p.maxLines = 2, 2
	best := sampleFile()
	best.BestLines = []int{21, 8, 20}
	for _, f := range []*wire.SearchFile{best, hostileFile(), sampleFile()} {
		p.printFile(f)
	}
	if err := p.flush(); err != nil {
		t.Fatal(err)
	}
	want := "demo:a/b.go\n21:three\n8:two two\n\n" + `demo:\u001b[2J\u202e.go` + "\n1:a" + `\u001b]0;owned\u0007b` + "\n"
	if out.String() != want || !p.hidden || p.lines != 3 || p.files != 2 {
		t.Errorf("hidden %t, %d lines of %d files:\n%s\nwant\n%s", p.hidden, p.lines, p.files, &out, want)
	}
}

// TestCutLine cuts long lines at rune boundaries, around the first match, and checks that
// offsets stay correct.
func TestCutLine(t *testing.T) {
	long := strings.Repeat("é", 300) + "needle" + strings.Repeat("ü", 300)
	match := []wire.Range{{Start: locationAt(1600, 1), End: locationAt(1606, 1)}}
	for _, c := range []struct {
		name, text string
		matches    []wire.Range
		prefix     string
	}{
		{"short", "needle", match, "needle"},
		{"in the middle", long, match, ellipsis + strings.Repeat("é", leadColumns/2) + "needle"},
		{"without a match", long, nil, "éé"},
		{"a match in what is cut off", long, []wire.Range{{Start: locationAt(9000, 1), End: locationAt(9001, 1)}}, ellipsis},
	} {
		text, offset := cutLine(c.text, 1000, c.matches)
		if !strings.HasPrefix(text, c.prefix) || !utf8.ValidString(text) || len(text) > maxColumns+8 {
			t.Errorf("%s: %q", c.name, text)
		}
		if c.name == "in the middle" && text[1600-offset:1606-offset] != "needle" {
			t.Errorf("%s: offset %d does not lead to the match in %q", c.name, offset, text)
		}
	}
}

// TestEditorPath finds files that exist on this machine, and no others.
func TestEditorPath(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"app/a.go", "group/app/b.go", "c.go"} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ dir, repository, file, want string }{
		{".", root[1:] + "/app", "a.go", filepath.Join(root, "app/a.go")}, // registered by its path
		{".", "group/app", "b.go", "group/app/b.go"},
		{"app", "example.com/app", "a.go", "a.go"},
		{"app", "example.com/other", "a.go", "example.com/other/a.go"},
		{".", "app", "missing.go", "app/missing.go"},
		{"app", "..", "c.go", "../c.go"},
		{"app", "example.com/app", "../c.go", "example.com/c.go"}, // leaves the checkout
	} {
		t.Chdir(filepath.Join(root, c.dir))
		f := &wire.SearchFile{Repository: c.repository}
		f.FileName.Text = c.file
		if got := editorPath(f); got != c.want {
			t.Errorf("in %s: %s of %s is %s, want %s", c.dir, c.file, c.repository, got, c.want)
		}
	}
}

// TestTablesAreSafe prints hostile text from a sender, a repository or a server. No
// control character and no newline may reach a table or a list of facts.
func TestTablesAreSafe(t *testing.T) {
	const hostile = "a\x1b]0;owned\a\u009b2J\r\nb\tc\u202e\x9b"
	const safe = `a\u001b]0;owned\u0007\u009b2J\u000d\nb\tc\u202e\x9b`
	for name, print := range map[string]func(s streams) error{
		"deliveries": func(s streams) error {
			return printDeliveries(s.out, []wire.Delivery{{ID: "1-1", Connection: hostile, RepoName: hostile, Reason: hostile, Pushes: []wire.DeliveredPush{{Ref: hostile}}}})
		},
		"delivery": func(s streams) error {
			return printDelivery(s.out, &wire.Delivery{ID: "1-1", Source: hostile, DeliveryID: hostile, Pushes: []wire.DeliveredPush{{Ref: hostile, Reason: hostile}}})
		},
		"dead letters": func(s streams) error {
			return printDeadLetters(s, []wire.DeadLetter{{ID: "1-1", Stage: hostile, Type: hostile, RepoName: hostile, Reason: hostile}}, 1)
		},
		"dead letter": func(s streams) error {
			return printDeadLetter(s, &wire.DeadLetterDetails{ID: "1-1", Reason: hostile, Key: hostile, Value: hostile, Headers: []wire.RecordHeader{{Name: "x", Value: hostile}}})
		},
		"audit": func(s streams) error {
			return printAudit(s.out, []wire.AuditRecord{{Action: hostile, ActorID: hostile, TargetType: hostile, Metadata: map[string]string{"address": hostile}}})
		},
	} {
		var out bytes.Buffer
		if err := print(streams{out: &out, err: &out}); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if !strings.Contains(text, safe) || strings.ContainsAny(text, "\x1b\a\r\t\u009b\u202e") || !utf8.ValidString(text) || strings.Contains(text, "\nb") {
			t.Errorf("%s: %q", name, text)
		}
	}
}
