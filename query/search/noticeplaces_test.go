package search

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/search/searchtest"
)

// TestColumnsShowWhatPlacesShow looks for a place of each filter in columns, and compares that with
// the inspection of each place.
func TestColumnsShowWhatPlacesShow(t *testing.T) {
	first := searchtest.FirstSeed(t)
	compared := map[bool]int{}
	for seed := first; seed < first+20; seed++ {
		rng := rand.New(rand.NewPCG(seed, 77))
		m := searchtest.NewModel(t, rng)
		m.Repos[0].Private = true
		for _, text := range []string{
			"lang:c word", "lang:go -lang:c word", "file:^src/ lang:go word", "file:^test/ -file:^src/ word", "file:file1 word", "file:nowhere word",
			"repo:repo1 lang:python word", "repo:repo2 word", "(lang:go or file:^lib/) word", "file:^src/docs/ sym:word", "sym:word repo:repo0", "is:test file:^lib/ word",
			"visibility:private lang:c word", "file:^src/ file:^test/ word", "(file:^lib/ -lang:c) or -lang:go word",
		} {
			plan, err := newSearcher(Options{}).planSearch(t.Context(), m, Request{Query: searchtest.Parse(t, text), Matches: 10})
			if err != nil {
				t.Fatal(err)
			}
			s := newSearcher(Options{})
			ticket, err := s.admission.Enter(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			in := s.newNoticeFinder(m, plan, true)
			in.worker, in.began, in.limit = ticket.Worker(t.Context().Done()), time.Now(), math.MaxInt64
			in.selectRepositories()
			columns, places := in.newPlaceSummary(), in.newPlaceSummary()
			found := in.findPlaces(columns)
			for seg, i := range in.visiblePlaces() {
				places.addPlace(seg, i)
			}
			if compared[found]++; found != places.isDone() || found && (!columns.isDone() || !columns.known || columns.files == 0 || columns.symbols && !places.symbols) {
				t.Errorf("seed %d, %s: columns show everything: %v, places: %v", seed, text, found, places.isDone())
			}
			if !found && (columns.satisfiable || columns.symbols || !slices.Equal(columns.matched, in.newPlaceSummary().matched)) {
				t.Errorf("seed %d, %s: the summary changed", seed, text)
			}
			if s := in.summarizePlaces(); found && s.inspected > 0 {
				t.Errorf("seed %d, %s: inspected %d places, although columns show everything", seed, text, s.inspected)
			}
			in.worker.End()
			ticket.Leave()
		}
	}
	if compared[true] < 50 || compared[false] < 50 {
		t.Errorf("compared %v", compared)
	}
}
