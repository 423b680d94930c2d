package web

import (
	"bytes"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
)

// TestCapturesAreBounded counts a group of an expression with which package regexp takes hours
// for all matches of a long line, and checks that no time is spent after the bound.
func TestCapturesAreBounded(t *testing.T) {
	q, err := syntax.Parse(`regex:((x?){100}y?){10}z|(x)`, syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := newCaptureCounter(q, "$3")
	chunk := search.Chunk{Content: bytes.Repeat([]byte("x"), 64<<10)}
	for _, at := range []int{0, 7} {
		chunk.Ranges = append(chunk.Ranges, search.Range{Start: search.Location{ByteOffset: at}, End: search.Location{ByteOffset: at + 1}})
	}
	files := []search.FileMatch{{Chunks: []search.Chunk{chunk}}}
	if err := c.takeFiles(files, search.Stats{}); err != nil || c.isCut || len(c.counts) != 1 || c.counts["x"] == nil || c.counts["x"].matches != 2 {
		t.Errorf("counts %v, cut %t, %v", c.counts, c.isCut, err)
	}
	c.taken = 2 * maxCaptureTime
	if err := c.takeFiles(files, search.Stats{}); err != nil || !c.isCut || c.counts["x"].matches != 2 {
		t.Errorf("more counts than there is time for: %v, cut %t, %v", c.counts["x"], c.isCut, err)
	}
}

// TestNarrowQuery takes the text of a group into the query, but not the beginning of a longer one.
func TestNarrowQuery(t *testing.T) {
	q, err := syntax.Parse(`regex:a(é+)b`, syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for runes, want := range map[int]string{2: "regex:axééb", 99: "regex:ax" + strings.Repeat("é", 99) + "b", 100: q.Text} {
		c := newCaptureCounter(q, "$1")
		text := "x" + strings.Repeat("é", runes) // with 100, the bound is within a rune
		c.add([]byte(text), []int{0, len(text)})
		if counts := c.sortCounts(); len(counts) != 1 || c.narrowQuery(q, counts[0]) != want {
			t.Errorf("%d runes: %.40q, want %.40q", runes, c.narrowQuery(q, counts[0]), want)
		}
	}
}
