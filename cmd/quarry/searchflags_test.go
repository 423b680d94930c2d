package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// TestFlagsOfRipgrep checks what the flags that users of ripgrep type ask for.
func TestFlagsOfRipgrep(t *testing.T) {
	var asked wire.SearchRequest
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = wire.SearchRequest{}
		_ = json.NewDecoder(r.Body).Decode(&asked)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"isSearchExhaustive":true,"files":[{"repository":"r","fileName":{"text":"a\nb"},"chunks":[{"content":"x\n","contentStart":{"lineNumber":3}}]}]}`)
	}))
	defer server.Close()
	for _, c := range []struct {
		args       []string
		query, out string
		exact      bool
	}{
		{[]string{"x"}, "x", "r:a\\nb:3-x\n", false},
		{[]string{"-l", "x"}, "x", "r:a\\nb\n", false},
		{[]string{"x", "-l"}, "x", "r:a\\nb\n", false},
		{[]string{"--files-with-matches", "x"}, "x", "r:a\\nb\n", false},
		{[]string{"-i", "x"}, "x", "r:a\\nb:3-x\n", false},
		{[]string{"-s", "x"}, "x", "r:a\\nb:3-x\n", true},
		{[]string{"-s", "-i", "x"}, "x", "r:a\\nb:3-x\n", false},
		{[]string{"-t", "go", "x"}, "x lang:go", "r:a\\nb:3-x\n", false},
		{[]string{"x", "-tgo", "-t", "Common Lisp"}, `x -tgo lang:"Common Lisp"`, "r:a\\nb:3-x\n", false},
		{[]string{"-t", "go", "-t", "c", "a", "or", "b"}, "(a or b) (lang:go or lang:c)", "r:a\\nb:3-x\n", false},
		{[]string{"-g", "*.go", "x"}, `x ` + (&syntax.File{Pattern: globPattern("*.go"), Case: syntax.CaseNo}).String(), "r:a\\nb:3-x\n", false},
		{[]string{"-il", "x"}, "x", "r:a\\nb\n", false},
		{[]string{"x", "-sl"}, "x", "r:a\\nb\n", true},
		{[]string{"-w", "x"}, `regex:\bx\b`, "r:a\\nb:3-x\n", false},
		{[]string{"-sw", "x", "or", `"a b("`}, `regex:\bx\b or regex:"\\ba b\\(\\B"`, "r:a\\nb:3-x\n", true},
		{[]string{"-w", "repo:r", "-(x", "regex:y.)"}, `repo:r -(regex:\bx\b regex:y.)`, "r:a\\nb:3-x\n", false},
		{[]string{"-F", `say "hi" or repo:x`}, `"say \"hi\" or repo:x"`, "r:a\\nb:3-x\n", false},
		{[]string{"-F", "-tgo", "a", "or", "b"}, `"a or b" lang:go`, "r:a\\nb:3-x\n", false},
		{[]string{"-e", `func \w+ x`, "repo:r"}, `"func \\w+ x" repo:r`, "r:a\\nb:3-x\n", false},
		{[]string{"-e", "a *b"}, `"a *b"`, "r:a\\nb:3-x\n", false},
		{[]string{"-e", "a b repo:r"}, "a b repo:r", "r:a\\nb:3-x\n", false},
		{[]string{"-e", "a or b"}, "a or b", "r:a\\nb:3-x\n", false},
		{[]string{"-e", `"a b" c`}, `"a b" c`, "r:a\\nb:3-x\n", false},
		{[]string{"-e", "a", "b"}, "a b", "r:a\\nb:3-x\n", false},
		{[]string{"-Fw", "a.b +"}, `regex:"\\ba\\.b \\+\\B"`, "r:a\\nb:3-x\n", false},
		{[]string{"-w", "(x"}, `regex:\B\(x\b`, "r:a\\nb:3-x\n", false},
		{[]string{"-w", "repo:("}, "repo:(", "r:a\\nb:3-x\n", false}, // the server says what is wrong
		{[]string{"-g", "!*_test.go", "x"}, `x -` + (&syntax.File{Pattern: globPattern("*_test.go"), Case: syntax.CaseNo}).String(), "r:a\\nb:3-x\n", false},
	} {
		var out, err bytes.Buffer
		run(t.Context(), append([]string{"search", "--server", server.URL}, c.args...), streams{out: &out, err: &err})
		if asked.Query != c.query || out.String() != c.out || asked.IsCaseSensitivityEnabled != c.exact {
			t.Errorf("quarry search %q asks %q, exact case %v, prints %q, %q; want %q, %v, %q", c.args, asked.Query, asked.IsCaseSensitivityEnabled, out.String(), err.String(), c.query, c.exact, c.out)
		}
		if _, err := syntax.Parse(asked.Query, syntax.Options{}); err != nil && c.args[1] != "repo:(" {
			t.Errorf("quarry search %q asks an invalid query: %v", c.args, err)
		}
	}
	for flag, want := range map[string]string{"-v": "-line:", "-iv": "-line:", "-we": `\bEXPRESSION\b`, "-eF": `\bEXPRESSION\b`, "-S": "case:auto", "--hidden": "hidden", "--type-not": "-lang:"} {
		var out, err bytes.Buffer
		if code := run(t.Context(), []string{"search", flag, "x"}, streams{out: &out, err: &err}); code != exitUsage || !strings.Contains(err.String(), want) || strings.Contains(err.String(), "did you mean") {
			t.Errorf("quarry search %s x: status %d, %q; want status %d and %q", flag, code, err.String(), exitUsage, want)
		}
	}
}

// TestOutputOfRipgrep checks how the flags that users of ripgrep type print a file with
// three matches, two of them in one line.
func TestOutputOfRipgrep(t *testing.T) {
	lines := []string{"one", "two x x", "three", "four", "five", "six x", "seven"}
	var asked wire.SearchRequest
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = wire.SearchRequest{}
		_ = json.NewDecoder(r.Body).Decode(&asked)
		w.Header().Set("Content-Type", "application/json")
		answer := wire.SearchResult{IsSearchExhaustive: true, Files: []wire.SearchFile{{Repository: "r", FileName: wire.FileName{Text: "a"}}}}
		offset := 0
		for i, line := range lines { // one chunk for each run of lines, as the server answers
			near := false
			for _, match := range []int{1, 5} {
				near = near || match-asked.ContextLines <= i && i <= match+asked.ContextLines
			}
			if !near {
				offset += len(line) + 1
				continue
			}
			f := &answer.Files[0]
			if n := len(f.Chunks); n == 0 || f.Chunks[n-1].ContentStart.ByteOffset+len(f.Chunks[n-1].Content) != offset {
				f.Chunks = append(f.Chunks, wire.Chunk{ContentStart: wire.Location{ByteOffset: offset, LineNumber: i + 1, Column: 1}})
			}
			c := &f.Chunks[len(f.Chunks)-1]
			c.Content += line + "\n"
			for at, b := range []byte(line) {
				if b == 'x' && (i == 1 || i == 5) && line[at-1] == ' ' {
					c.MatchRanges = append(c.MatchRanges, wire.Range{Start: wire.Location{ByteOffset: offset + at}, End: wire.Location{ByteOffset: offset + at + 1}})
				}
			}
			offset += len(line) + 1
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
	for _, c := range []struct {
		args    []string
		context int
		out     string
	}{
		{[]string{"x"}, 0, "r:a:2:two x x\nr:a:6:six x\n"},
		{[]string{"-c", "x"}, 0, "r:a:2\n"},
		{[]string{"-C1", "-c", "x"}, 0, "r:a:2\n"},
		{[]string{"-o", "x"}, 0, "r:a:2:x\nr:a:2:x\nr:a:6:x\n"},
		{[]string{"-o", "--editor-links", "x"}, 0, "r/a:2:5: x\nr/a:2:7: x\nr/a:6:5: x\n"},
		{[]string{"-A1", "x"}, 1, "r:a:2:two x x\nr:a:3-three\n--\nr:a:6:six x\nr:a:7-seven\n"},
		{[]string{"x", "-A1"}, 1, "r:a:2:two x x\nr:a:3-three\n--\nr:a:6:six x\nr:a:7-seven\n"},
		{[]string{"-B", "1", "x"}, 1, "r:a:1-one\nr:a:2:two x x\n--\nr:a:5-five\nr:a:6:six x\n"},
		{[]string{"-C1", "x"}, 1, "r:a:1-one\nr:a:2:two x x\nr:a:3-three\n--\nr:a:5-five\nr:a:6:six x\nr:a:7-seven\n"},
		{[]string{"-C1", "-A0", "x"}, 1, "r:a:1-one\nr:a:2:two x x\n--\nr:a:5-five\nr:a:6:six x\n"},
		{[]string{"-A3", "x"}, 3, "r:a:2:two x x\nr:a:3-three\nr:a:4-four\nr:a:5-five\nr:a:6:six x\nr:a:7-seven\n"},
		{[]string{"-A1", "-B2", "x"}, 2, "r:a:1-one\nr:a:2:two x x\nr:a:3-three\nr:a:4-four\nr:a:5-five\nr:a:6:six x\nr:a:7-seven\n"},
	} {
		var out, err bytes.Buffer
		if code := run(t.Context(), append([]string{"search", "--server", server.URL}, c.args...), streams{out: &out, err: &err}); code != exitOK || out.String() != c.out || asked.ContextLines != c.context {
			t.Errorf("quarry search %q: status %d, asks for %d lines of context, prints %q, %q; want %d and %q", c.args, code, asked.ContextLines, out.String(), err.String(), c.context, c.out)
		}
	}
}
