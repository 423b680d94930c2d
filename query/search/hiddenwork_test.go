package search

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// hiddenPair is two corpora that differ only in the text, the symbols and the paths of a
// hidden repository: in the first they contain the words of the queries.
type hiddenPair struct {
	present, absent *model
	visible         func(*code.Repository) bool
}

const (
	hiddenWord = "DB_PASSWORD=hunter2swordfish"
	otherWord  = "QX_QXQXQXQX=jvqzkxjvqzkxjvqz"
)

func newHiddenPair(t *testing.T, seed uint64) hiddenPair {
	rng := rand.New(rand.NewPCG(seed, 84))
	type file struct {
		repo             int
		path, text, name string
		branch           code.Ref
	}
	var files []file
	for i := range 120 {
		f := file{repo: i % 3, branch: "refs/heads/main"}
		if f.repo == 2 {
			if rng.IntN(3) == 0 {
				f.branch = "refs/heads/next"
			}
			f.path, f.name = fmt.Sprintf("src/HIDDEN%d.c", i), fmt.Sprintf("HIDDEN_%d", i)
			f.text = fmt.Sprintf("%s(void)\n", f.name) + strings.Repeat("int filler;\n", rng.IntN(900)) + "HIDDEN\nint HIDDEN common;\n" + strings.Repeat("int filler;\n", rng.IntN(900))
		} else {
			f.path, f.name = fmt.Sprintf("src/seen%d.c", i), fmt.Sprintf("seen_%d", i)
			f.text = fmt.Sprintf("%s(void)\nint common;\n", f.name) + strings.Repeat("int filler;\n", rng.IntN(900))
		}
		files = append(files, f)
	}
	rng.Shuffle(len(files), func(i, k int) { files[i], files[k] = files[k], files[i] })
	build := func(word string) *model {
		m := &model{refs: []code.Ref{"refs/heads/main", "refs/heads/next"}}
		for i := range 3 {
			m.repos = append(m.repos, &Repository{Repository: code.Repository{ID: code.RepositoryID(i + 1), Name: fmt.Sprint("host/r", i), DefaultBranch: "main", Private: i == 2}})
		}
		for _, f := range files {
			fill := func(s string) string { return strings.ReplaceAll(s, "HIDDEN", word) }
			d := &modelDocument{text: []byte(fill(f.text)), lang: "C", symbols: []code.Symbol{{Name: fill(f.name), Kind: "function"}}}
			m.documents = append(m.documents, d)
			m.places = append(m.places, modelPlace{f.repo, fill(f.path), f.branch, d})
		}
		m.build(t, 3)
		return m
	}
	return hiddenPair{build(hiddenWord), build(otherWord), func(r *code.Repository) bool { return r.ID != 3 }}
}

// TestHiddenTextCausesNoWork compares the work of searches by a caller who may not see
// some text: whatever that text contains, the search must do the same.
func TestHiddenTextCausesNoWork(t *testing.T) {
	seed := firstSeed(t)
	pair := newHiddenPair(t, seed)
	word := hiddenWord
	queries := []string{
		word, word[:12], word[:5], "pass", "w", "swordfisk", "password hunter2", "password common", "common password", `"int ` + word + ` common"`,
		"password or common", "-password common", "regex:hunter[0-9]sword", "regex:pass.*fish", "regex:PASSWORD=[a-z]+", "regex:[a-z]{9}fish", `regex:(?s)void.*hunter`,
		"case:yes PASSWORD", "sym:" + word, "sym:hunter2", "sym:/^DB_PASSWORD/", "DB_PASSWORD", "DB PASSWORD", "file:hunter2", "file:hunter2 common", "common -file:hunter2", "file:hunter2 or common",
		"hunter2 rev:*", "common hunter2 rev:*", "type:file hunter2", "type:file file:hunter2", "type:repo hunter2", "type:symbol hunter2", "select:repo hunter2", "hunter2 lang:c", "hunter2 visibility:private",
		"is:test hunter2", "hunter3swordfish", "DB_PASSWORE", "common\nint " + word, "filler",
		"how is the password of hunter2 used", "password or hunter2 or common", "common.hunter2", "DB::" + word,
	}
	for _, text := range queries {
		parsed, err := syntax.Parse(text, syntax.Options{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, r := range []Request{{Matches: 1 << 16}, {Matches: 10}, {Matches: 100, Explain: true, Facets: true, Related: true, Whole: true}} {
			r.Query = parsed
			present, absent := workOf(t, pair.present, pair.visible, r), workOf(t, pair.absent, pair.visible, r)
			if present != absent {
				t.Errorf("seed %d, %q, limit %d: the work tells what is hidden\nhidden text has the words: %s\nit does not:               %s", seed, text, r.Matches, present, absent)
			}
		}
	}
}

// workOf returns what a search of the visible part of a corpus did, except times and
// text decompressed, which depends on the cache.
func workOf(t *testing.T, m *model, visible func(*code.Repository) bool, r Request) string {
	t.Helper()
	registry := prometheus.NewRegistry()
	s := newSearcher(Options{Registerer: registry})
	s.helpers = make(chan struct{}) // a second worker begins tasks that the limit then makes needless
	view := NewScreen(ScreenOptions{}).Hide(m, "caller", visible)
	ticket, err := s.admission.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer ticket.Leave()
	r.probes = new([]ProbeExplain)
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
	*model
	removed map[uint32]*code.Repository
}

func (v removedView) Removed() map[uint32]*code.Repository { return v.removed }

// TestOriginsDecideWhoUsesTheIndex checks for which segments a restricted caller may use
// the index.
func TestOriginsDecideWhoUsesTheIndex(t *testing.T) {
	m := newModel(t, rand.New(rand.NewPCG(7, 85)))
	m.repos = []*Repository{
		{Repository: code.Repository{ID: 1, Name: "host/public"}}, {Repository: code.Repository{ID: 2, Name: "host/private", Private: true}}, nil, nil,
	}
	v := removedView{m, map[uint32]*code.Repository{2: {ID: 3}, 3: {ID: 4, Private: true}}}
	seg := m.segments[0]
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
		m.segments, m.branches = []Segment{seg}, []Segment{{Reader: seg.Reader, Places: m.branches[0].Places, Origins: one.origins}}
		public := func(r *code.Repository) bool { return !r.Private }
		hidden := NewScreen(ScreenOptions{}).Hide(v, 1, public)
		again := NewScreen(ScreenOptions{}).Hide(hidden, 1, public)
		for _, view := range []View{hidden, again} {
			if got := view.Segments()[0].NoIndex; got != one.noIndex {
				t.Errorf("origins %v: NoIndex is %t, want %t", one.origins, got, one.noIndex)
			}
		}
	}
}
