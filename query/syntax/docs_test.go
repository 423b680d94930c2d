package syntax

import (
	"os"
	"strings"
	"testing"
)

// TestDocumentedExamples parses every line of every query block of docs/query-language.md. The words behind "query"
// on the fence say how: regexp for the mode, error if it must be refused.
func TestDocumentedExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/query-language.md")
	if err != nil {
		t.Fatal(err)
	}
	examples, fence := 0, ""
	for line := range strings.SplitSeq(string(page), "\n") {
		if info, ok := strings.CutPrefix(line, "```"); ok {
			fence = info
			continue
		}
		if !strings.HasPrefix(fence, "query") {
			continue
		}
		examples++
		_, err := Parse(line, Options{Regexp: strings.Contains(fence, "regexp")})
		if refused := err != nil; refused != strings.Contains(fence, "error") {
			t.Errorf("%s (%s): %v", line, fence, err)
		}
	}
	if examples < 50 {
		t.Errorf("only %d examples found", examples)
	}
}

// TestDocumentedKeywords holds the page to name every keyword.
func TestDocumentedKeywords(t *testing.T) {
	page, err := os.ReadFile("../../docs/query-language.md")
	if err != nil {
		t.Fatal(err)
	}
	for keyword := range keywords {
		if !strings.Contains(string(page), "`"+keyword+":`") {
			t.Errorf("%s: is not documented", keyword)
		}
	}
}
