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
		{[]string{"-g", "!*_test.go", "x"}, `x -` + (&syntax.File{Pattern: globPattern("*_test.go"), Case: syntax.CaseNo}).String(), "r:a\\nb:3-x\n", false},
	} {
		var out, err bytes.Buffer
		run(t.Context(), append([]string{"search", "--server", server.URL}, c.args...), streams{out: &out, err: &err})
		if asked.Query != c.query || out.String() != c.out || asked.IsCaseSensitivityEnabled != c.exact {
			t.Errorf("quarry search %q asks %q, exact case %v, prints %q, %q; want %q, %v, %q", c.args, asked.Query, asked.IsCaseSensitivityEnabled, out.String(), err.String(), c.query, c.exact, c.out)
		}
		if _, err := syntax.Parse(asked.Query, syntax.Options{}); err != nil {
			t.Errorf("quarry search %q asks an invalid query: %v", c.args, err)
		}
	}
	for flag, want := range map[string]string{"-A": "-C N", "-B": "-C N", "-w": `\bWORD\b`, "-o": "--json", "-c": "--json", "-F": "literal", "-v": "-line:", "-S": "case:auto", "--hidden": "hidden", "--type-not": "-lang:"} {
		var out, err bytes.Buffer
		if code := run(t.Context(), []string{"search", flag, "x"}, streams{out: &out, err: &err}); code != exitUsage || !strings.Contains(err.String(), want) || strings.Contains(err.String(), "did you mean") {
			t.Errorf("quarry search %s x: status %d, %q; want status %d and %q", flag, code, err.String(), exitUsage, want)
		}
	}
}
