package search

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/search/searchtest"
)

// TestResultBytesAreBounded checks that the size of an answer is bounded for any request,
// and that a cut answer reports it.
func TestResultBytesAreBounded(t *testing.T) {
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(2, 1)))
	all, err := newSearcher(Options{}).Search(t.Context(), m, Request{Query: searchtest.Parse(t, "i"), Matches: 1 << 20})
	if err != nil || all.Stopped != StopNone || all.Stats.Displayed != all.Stats.Matches {
		t.Fatalf("got %+v, %v", all, err)
	}
	for _, whole := range []bool{false, true} {
		request := Request{Query: searchtest.Parse(t, "i"), Matches: 1 << 20, ContextLines: 1 << 10, Whole: whole}
		r, err := newSearcher(Options{MaxResultBytes: 1000}).Search(t.Context(), m, request)
		if err != nil || r.Stopped != StopByteLimit || !r.Exhaustive {
			t.Fatalf("got %+v, %v", r, err)
		}
		ranges := 0
		for _, f := range r.Files {
			for _, c := range f.Chunks {
				ranges += len(c.Ranges)
			}
		}
		if r.Stats.Matches != all.Stats.Matches || r.Stats.Displayed >= all.Stats.Displayed || r.Stats.Displayed != ranges || ranges == 0 {
			t.Fatalf("%d of %d matches counted, %d displayed, %d ranges", r.Stats.Matches, all.Stats.Matches, r.Stats.Displayed, ranges)
		}
	}
}

// TestNearChunksAreOne joins matches that fewer lines separate than a request says.
func TestNearChunksAreOne(t *testing.T) {
	m := &searchtest.Model{}
	m.AddScript(t, `main file.go Go needle\n1\n2\n3\nneedle\n5\n6\nneedle\n8\nneedle`)
	for _, c := range []struct{ context, join, chunks int }{{0, 0, 4}, {0, 2, 3}, {0, 3, 2}, {0, 4, 1}, {1, 0, 3}, {1, 1, 2}, {1, 2, 1}} {
		r, err := newSearcher(Options{}).Search(t.Context(), m, Request{Query: searchtest.Parse(t, "needle"), Matches: 9, ContextLines: c.context, JoinLines: c.join})
		if err != nil || len(r.Files) != 1 {
			t.Fatal(r, err)
		}
		if n := len(r.Files[0].Chunks); n != c.chunks || countChunkRanges(r.Files[0].Chunks) != 4 {
			t.Errorf("%d lines of context, joined below %d: %d chunks, want %d", c.context, c.join, n, c.chunks)
		}
	}
}

// TestJoinedChunksAreBounded separates the matches of a file with a match in every third line.
func TestJoinedChunksAreBounded(t *testing.T) {
	m := &searchtest.Model{}
	m.AddScript(t, `main file.go Go `+strings.Repeat(`needle\n1\n2\n`, 4*maxJoinedMatches))
	r, err := newSearcher(Options{}).Search(t.Context(), m, Request{Query: searchtest.Parse(t, "needle"), Matches: 99, JoinLines: 3})
	if err != nil || len(r.Files) != 1 {
		t.Fatal(r, err)
	}
	if n := len(r.Files[0].Chunks); n != 4 || countChunkRanges(r.Files[0].Chunks) != 4*maxJoinedMatches {
		t.Errorf("%d chunks with %d matches", n, countChunkRanges(r.Files[0].Chunks))
	}
}

func countChunkRanges(chunks []Chunk) (n int) {
	for _, c := range chunks {
		n += len(c.Ranges)
	}
	return n
}

// TestMemoryIsBounded checks that the memory of matches and files is bounded and
// released, and that other searches never cut an ordinary search.
func TestMemoryIsBounded(t *testing.T) {
	m := &searchtest.Model{}
	line := "main file.go Go " + strings.Repeat("needle in hay\\n", 4000)
	m.AddScript(t, strings.TrimSuffix(strings.Repeat(line+"\n", 10), "\n"))
	all := Request{Query: searchtest.Parse(t, "needle"), Matches: 1 << 20}
	for _, o := range []Options{{MaxMemoryBytes: 2 << 20}, {TotalMemoryBytes: 1 << 20}} {
		s := New(o)
		r, err := s.Search(t.Context(), m, all)
		if err != nil || r.Stopped != StopMemoryLimit || r.Stats.Displayed == 0 || r.Stats.Displayed >= 10*4000 {
			t.Fatalf("%+v: %d displayed, %q, %v", o, r.Stats.Displayed, r.Stopped, err)
		}
		if used := s.memory.UsedBytes(); used <= 0 || used > 2<<20 {
			t.Fatalf("%d bytes are held while the answer is read", used)
		}
		few, err := s.Search(t.Context(), m, Request{Query: searchtest.Parse(t, "needle"), Matches: 50})
		if err != nil || few.Stopped != StopMatchLimit || few.Stats.Displayed != 50 {
			t.Fatalf("at the same time, 50 matches: %d displayed, %q, %v", few.Stats.Displayed, few.Stopped, err)
		}
		few.Release()
		r.Release()
		r.Release()
		if used := s.memory.UsedBytes(); used != 0 {
			t.Fatalf("%d bytes are held at the end", used)
		}
	}
	s := newSearcher(Options{})
	if _, parts := collect(t, s, m, all); parts < 2 || s.memory.UsedBytes() != 0 {
		t.Fatalf("%d parts, %d bytes are held after a stream", parts, s.memory.UsedBytes())
	}
}

// TestScannedTextIsBounded checks that a search stops after scanning as much text as it
// may, and reports it.
func TestScannedTextIsBounded(t *testing.T) {
	m := &searchtest.Model{}
	line := "main file.go Go " + strings.Repeat("needle in hay\\n", 4000)
	m.AddScript(t, strings.TrimSuffix(strings.Repeat(line+"\n", 100), "\n"))
	all := Request{Query: searchtest.Parse(t, "needle"), Matches: 1 << 20, Display: 1}
	r, err := newSearcher(Options{MaxScanBytes: 2 << 20}).Search(t.Context(), m, all)
	if err != nil || r.Stopped != StopScanLimit || r.Exhaustive || r.Stats.ScannedBytes < 2<<20 || r.Stats.ScannedBytes > 4<<20 {
		t.Fatalf("%d bytes scanned, %q, %v", r.Stats.ScannedBytes, r.Stopped, err)
	}
	r, err = newSearcher(Options{}).Search(t.Context(), m, all)
	if err != nil || r.Stopped != StopNone || r.Stats.Matches != 100*4000 {
		t.Fatalf("without a bound: %d matches, %q, %v", r.Stats.Matches, r.Stopped, err)
	}
}
