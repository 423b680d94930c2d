package search

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestHiddenTextCausesNoWork compares the work of searches by a caller who may not see
// some text: whatever that text contains, the search must do the same.
func TestHiddenTextCausesNoWork(t *testing.T) {
	seed := searchtest.FirstSeed(t)
	pair := searchtest.NewHiddenPair(t, seed)
	for _, text := range searchtest.HiddenQueries(searchtest.HiddenWord) {
		parsed, err := syntax.Parse(text, syntax.Options{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, r := range []Request{{Matches: 1 << 16}, {Matches: 10}, {Matches: 100, Explain: true, Facets: true, Related: true, Whole: true}} {
			r.Query = parsed
			present, absent := workOf(t, pair.Present, pair.Visible, r), workOf(t, pair.Absent, pair.Visible, r)
			if present != absent {
				t.Errorf("seed %d, %q, limit %d: the work tells what is hidden\nhidden text has the words: %s\nit does not:               %s", seed, text, r.Matches, present, absent)
			}
		}
	}
}

// workOf returns what a search of the visible part of a corpus did, except times and
// text decompressed, which depends on the cache.
func workOf(t *testing.T, m *searchtest.Model, visible func(*code.Repository) bool, r Request) string {
	t.Helper()
	registry := prometheus.NewRegistry()
	s := newSearcher(Options{Registerer: registry})
	s.helpers = make(chan struct{}) // a second worker begins tasks that the limit then makes needless
	view := corpus.NewScreen(corpus.ScreenOptions{}).Hide(m, "caller", visible)
	ticket, err := s.admission.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer ticket.Leave()
	result, err := s.runSearch(t.Context(), ticket, view, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	result.Stats.ContentBytes = 0
	stats := reflect.ValueOf(&result.Stats).Elem()
	for i := range stats.NumField() {
		if f := stats.Field(i); f.Type().String() == "time.Duration" {
			f.SetZero()
		}
	}
	ticket.Leave()
	if _, err := s.Search(t.Context(), view, r); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%+v, %s", result.Stats, countersOf(t, registry))
}

// countersOf returns the counters of work of a searcher.
func countersOf(t *testing.T, registry *prometheus.Registry) string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, f := range families {
		if f.GetType() != dto.MetricType_COUNTER || slices.Contains([]string{"quarry_search_content_bytes_total", "quarry_search_yielded_seconds_total", "quarry_search_demotions_total"}, f.GetName()) {
			continue
		}
		for _, c := range f.GetMetric() {
			if v := c.GetCounter().GetValue(); v != 0 {
				fmt.Fprintf(&out, " %s=%v", f.GetName(), v)
			}
		}
	}
	return out.String()
}

// removedView is a view with removed repositories.
type removedView struct {
	*searchtest.Model
	removed map[uint32]*code.Repository
}

func (v removedView) Removed() map[uint32]*code.Repository { return v.removed }

// TestOriginsDecideWhoUsesTheIndex checks for which segments a restricted caller may use
// the index.
func TestOriginsDecideWhoUsesTheIndex(t *testing.T) {
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(7, 85)))
	m.Repos = []*corpus.Repository{
		{Repository: code.Repository{ID: 1, Name: "host/public"}}, {Repository: code.Repository{ID: 2, Name: "host/private", Private: true}}, nil, nil,
	}
	v := removedView{m, map[uint32]*code.Repository{2: {ID: 3}, 3: {ID: 4, Private: true}}}
	seg := m.OnDefault[0]
	b := segment.NewPlacesBuilder(seg.Reader.Documents())
	b.Add(0, 0, segment.NoRef, 0, "a.c")
	seg.Places = b.Build()
	for _, one := range []struct {
		origins []uint32
		noIndex bool
	}{
		{[]uint32{0}, false}, {[]uint32{0, 1}, true}, {[]uint32{1}, true}, {nil, true},
		{[]uint32{0, 2}, false}, {[]uint32{0, 3}, true}, {[]uint32{0, 99}, true},
	} {
		seg.Origins = one.origins
		m.OnDefault, m.OnRefs = []corpus.Segment{seg}, []corpus.Segment{{Reader: seg.Reader, Places: m.OnRefs[0].Places, Origins: one.origins}}
		public := func(r *code.Repository) bool { return !r.Private }
		hidden := corpus.NewScreen(corpus.ScreenOptions{}).Hide(v, 1, public)
		again := corpus.NewScreen(corpus.ScreenOptions{}).Hide(hidden, 1, public)
		for _, view := range []corpus.View{hidden, again} {
			if got := view.Segments()[0].NoIndex; got != one.noIndex {
				t.Errorf("origins %v: NoIndex is %t, want %t", one.origins, got, one.noIndex)
			}
		}
	}
}
