package assist

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/syntax"
)

// TestHiddenTextCausesNoFurtherSearch compares the work of all searches for a request by a
// caller who may not see some text: whatever that text contains, they must do the same.
func TestHiddenTextCausesNoFurtherSearch(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // a limit of matches ends a search where the first worker is
	pair := searchtest.NewHiddenPair(t, searchtest.FirstSeed(t))
	counted := []string{"quarry_search_scanned_bytes_total", "quarry_search_index_bytes_total", "quarry_search_files_loaded_total", "quarry_search_incomplete_total", "quarry_search_readings_total"}
	work := func(m *searchtest.Model, r search.Request) string {
		registry := prometheus.NewRegistry()
		view := corpus.NewScreen(corpus.ScreenOptions{}).Hide(m, "caller", pair.Visible)
		if _, err := newSearcher(search.Options{Registerer: registry}).Search(t.Context(), view, r); err != nil {
			t.Fatal(err)
		}
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		for _, f := range families {
			if slices.Contains(counted, f.GetName()) {
				for _, m := range f.GetMetric() {
					fmt.Fprintf(&out, "%s %v; ", f.GetName(), m.GetCounter().GetValue())
				}
			}
		}
		return out.String()
	}
	for _, text := range searchtest.HiddenQueries(searchtest.HiddenWord) {
		parsed, err := syntax.Parse(text, syntax.Options{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		r := search.Request{Query: parsed, Matches: 1 << 16, Related: true}
		if present, absent := work(pair.Present, r), work(pair.Absent, r); present != absent {
			t.Errorf("%q: the work tells what is hidden\nhidden text has the words: %s\nit does not:               %s", text, present, absent)
		}
	}
}
