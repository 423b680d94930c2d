package search

import (
	"cmp"
	"slices"
	"testing"

	"github.com/quarrysearch/quarry/query/search/searchtest"
)

// TestEstimatesOrderByNearness estimates the scores of files with both terms: of a phrase,
// on one line, in nearby lines and far apart.
func TestEstimatesOrderByNearness(t *testing.T) {
	m := &searchtest.Model{}
	far := `alpha\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\nbeta\n`
	m.AddSources(t, "host/a a.go - Go "+far+"\nhost/a b.go - Go alpha\\na word, and\\nbeta\\n\nhost/a c.go - Go alpha with a word, and beta\\n\nhost/a d.go - Go alpha beta\\n")
	run := newTestRun(t, m, Request{Query: searchtest.Parse(t, "alpha beta"), Matches: 1000})
	v := newSegmentSearcher(run.plan.scope, 1<<20, 1<<20, func() bool { return false }, nil)
	v.bestOnly = true
	t.Cleanup(func() { _ = v.close() })
	visit := v.startTask(0, m.OnDefault[0])
	err := visit.visitSegment(nil)
	hits := visit.hits
	if err != nil || len(hits) != 4 {
		t.Fatalf("%d hits, want 4: %v", len(hits), err)
	}
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Compare(b.estimatedScore, a.estimatedScore) })
	var paths []string
	for i := range hits {
		paths = append(paths, string(m.OnDefault[0].Places.Path(hits[i].Place)))
	}
	if want := []string{"d.go", "c.go", "b.go", "a.go"}; !slices.Equal(paths, want) {
		t.Errorf("by estimate %v, want %v", paths, want)
	}
}
