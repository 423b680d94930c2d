package mcp

import (
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/source"
)

// TestFirstEntryFits checks that a list goes on after a commit with more text than an answer
// has room for.
func TestFirstEntryFits(t *testing.T) {
	subject := strings.Repeat("\x01", maxLineBytes)
	line := formatCommit(&source.Commit{ID: "0123456789abcdef0123456789abcdef01234567", Date: "2026-01-01T00:00:00Z", AuthorName: "Ada", Subject: subject})
	var out answerText
	out.setMaxTokens(minTokens)
	out.addLinef("2 commits.")
	if !out.addEntry(line, true) || out.addEntry(line, false) {
		t.Errorf("want the first commit only, have\n%.200s", out.b.String())
	}
}
