package mcp

import (
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/search"
)

// TestTextMatches checks that an agent learns about occurrences in comments, which are
// not references.
func TestTextMatches(t *testing.T) {
	text := "package p\n\n// boil boils.\nfunc f() { boil() }\n"
	chunk := func(at, line int) search.Chunk {
		start := strings.LastIndexByte(text[:at], '\n') + 1
		end := at + strings.IndexByte(text[at:], '\n') + 1
		return search.Chunk{
			Content: []byte(text[start:end]), Start: search.Location{ByteOffset: start, LineNumber: line, Column: 1},
			Ranges: []search.Range{{Start: search.Location{ByteOffset: at, LineNumber: line, Column: at - start + 1}, End: search.Location{ByteOffset: at + 4, LineNumber: line, Column: at - start + 5}}},
		}
	}
	comment, call := chunk(strings.Index(text, "boil "), 3), chunk(strings.Index(text, "boil()"), 4)
	for _, c := range []struct {
		chunks []search.Chunk
		want   string
	}{
		{[]search.Chunk{comment, call}, "4: func f() { boil() }"},
		{[]search.Chunk{comment}, "Found no reference of boil."},
	} {
		w := &world{found: search.Result{Exhaustive: true, Files: []search.FileMatch{{Repo: kettle, Path: "p.go", Language: "Go", Content: []byte(text), Chunks: c.chunks}}}}
		got := callTool(t, newServer(t, w), reader, "find_symbol_references", `{"symbol":"boil"}`)
		if !strings.Contains(got, c.want) || !strings.Contains(got, "1 more is in comments, strings and prose") || strings.Contains(got, "// boil") {
			t.Errorf("references with one in a comment: %q, want %q and a note of the other", got, c.want)
		}
	}
}
