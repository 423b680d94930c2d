package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// BenchmarkClasses searches a thousand private repositories of twenty files, as a caller
// who sees all of them, all but one, or one. Their text is mixed in segments, or apart: a
// segment for each.
func BenchmarkClasses(b *testing.B) {
	const repositories = 1000
	rng := rand.New(rand.NewPCG(1, 2))
	m := &searchtest.Model{Refs: []code.Ref{"refs/heads/main"}}
	for i := range repositories {
		m.Repos = append(m.Repos, &corpus.Repository{Repository: code.Repository{ID: code.RepositoryID(i + 1), Name: fmt.Sprintf("host.example/team/repository%d", i), DefaultBranch: "main", Private: true}})
		for k := range 20 {
			d := &searchtest.ModelDocument{Text: fmt.Appendf(searchtest.FillerText(rng, 2<<10), "common word%d_%d", i, k), Lang: "C"}
			m.Documents = append(m.Documents, d)
			m.Places = append(m.Places, searchtest.ModelPlace{Repo: i, Path: fmt.Sprintf("src/file%d.c", k), Ref: "refs/heads/main", Doc: d})
		}
	}
	mixed, apart := *m, *m
	mixed.AddSegment(b, m.Documents)
	for of := range slices.Chunk(m.Documents, 20) {
		apart.AddSegment(b, of)
	}
	s := New(Options{})
	callers := []struct {
		name string
		sees func(*code.Repository) bool
	}{{"one", func(r *code.Repository) bool { return r.ID == 500 }}, {"most", func(r *code.Repository) bool { return r.ID != 500 }}}
	for _, query := range []string{"absentword", "word499_7", "common", "kmalloc kfree", "common file:file7"} {
		q, err := syntax.Parse(query, syntax.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(query, func(b *testing.B) {
			took := map[string]time.Duration{}
			ask := func(name string, v corpus.View) {
				started := time.Now()
				r, err := s.Search(b.Context(), v, Request{Query: q, Matches: 500})
				if err != nil {
					b.Fatal(err)
				}
				r.Release()
				took[name] += time.Since(started)
			}
			for b.Loop() {
				for layout, m := range map[string]*searchtest.Model{"mixed": &mixed, "apart": &apart} {
					ask(layout+"-all-µs", m)
					screen := corpus.NewScreen(corpus.ScreenOptions{})
					for _, c := range callers {
						v := screen.Hide(m, c.name, c.sees)
						ask(layout+"-"+c.name+"-µs", v)
					}
				}
			}
			for name, d := range took {
				b.ReportMetric(float64(d.Microseconds())/float64(b.N), name)
			}
		})
	}
}
