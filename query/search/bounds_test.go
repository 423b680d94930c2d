package search

import (
	"math/rand/v2"
	"testing"
)

// An answer has a size whatever is asked for, and says that it was cut.
func TestResultBytesAreBounded(t *testing.T) {
	m := newModel(t, rand.New(rand.NewPCG(1, 1)))
	all, err := New(Options{}).Search(t.Context(), m, Request{Query: parse(t, "i"), Matches: 1 << 20})
	if err != nil || all.Stopped != StopNone || all.Stats.Displayed != all.Stats.Matches {
		t.Fatalf("got %+v, %v", all, err)
	}
	for _, whole := range []bool{false, true} {
		request := Request{Query: parse(t, "i"), Matches: 1 << 20, ContextLines: 1 << 10, Whole: whole}
		r, err := New(Options{MaxResultBytes: 1000}).Search(t.Context(), m, request)
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
