package api

import (
	"testing"

	"github.com/quarrysearch/quarry/query/navigate"
)

// TestLinesOfMatchesAreBounded checks that many matches in one long line do not each repeat it
// without a bound.
func TestLinesOfMatchesAreBounded(t *testing.T) {
	long := navigate.Match{Line: make([]byte, 1<<20)}
	matches := make([]navigate.Match, 100)
	for i := range matches {
		matches[i] = long
	}
	room := maxFindLineBytes
	if got := newFindMatches(matches, &room); len(got) != maxFindLineBytes/len(long.Line) {
		t.Errorf("the response has %d matches of %d with %d bytes each", len(got), len(matches), len(long.Line))
	}
	if got := newFindMatches(matches[:1], &room); len(got) != 0 {
		t.Error("a file after the limit has matches")
	}
}
