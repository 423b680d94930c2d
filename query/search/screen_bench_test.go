package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// BenchmarkScreen searches ten thousand repositories as a caller who sees all of them,
// one who sees nine of ten, and one who sees a hundred. It also measures the cost of
// computing their visibility, initially and after a segment has changed.
func BenchmarkScreen(b *testing.B) {
	const repositories = 10_000
	rng := rand.New(rand.NewPCG(1, 2))
	m := &searchtest.Model{Refs: []code.Ref{"refs/heads/main"}}
	for i := range repositories {
		m.Repos = append(m.Repos, &corpus.Repository{Repository: code.Repository{
			ID: code.RepositoryID(i + 1), Name: fmt.Sprintf("host.example/team%d/repository%d", i%100, i), DefaultBranch: "main",
		}})
		for k := range 3 {
			d := &searchtest.ModelDocument{Text: fmt.Appendf(searchtest.FillerText(rng, 600), "common word%d", i), Lang: "C"}
			m.Documents = append(m.Documents, d)
			m.Places = append(m.Places, searchtest.ModelPlace{Repo: i, Path: fmt.Sprintf("src/file%d.c", k), Ref: "refs/heads/main", Doc: d})
		}
	}
	m.BuildIndex(b, 8)
	s, screen := New(Options{}), corpus.NewScreen(corpus.ScreenOptions{})
	most := func(r *code.Repository) bool { return r.ID%10 != 0 }
	few := func(r *code.Repository) bool { return r.ID <= 100 }
	for _, query := range []string{"word77", "common", "common struct", "repo:repository12 common", "kmalloc kfree"} {
		q, err := syntax.Parse(query, syntax.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(query, func(b *testing.B) {
			var took [3]time.Duration
			for b.Loop() {
				for i := range took {
					started := time.Now()
					var v corpus.View = m
					switch i {
					case 1:
						v = screen.Hide(m, "most", most)
					case 2:
						v = screen.Hide(m, "few", few)
					}
					r, err := s.Search(b.Context(), v, Request{Query: q, Matches: 500})
					if err != nil {
						b.Fatal(err)
					}
					r.Release()
					took[i] += time.Since(started)
				}
			}
			for i, name := range []string{"all-µs", "most-µs", "few-µs"} {
				b.ReportMetric(float64(took[i].Microseconds())/float64(b.N), name)
			}
		})
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			corpus.NewScreen(corpus.ScreenOptions{}).Hide(m, "most", most)
		}
	})
	b.Run("segment", func(b *testing.B) {
		for b.Loop() {
			m.OnDefault = slices.Clone(m.OnDefault) // a new state
			places := segment.NewPlacesBuilder(m.OnDefault[0].Reader.Documents())
			for i, p := 0, m.OnDefault[0].Places; i < p.Len(); i++ {
				places.Add(p.Doc[i], p.Repo[i], segment.NoRef, p.Flags[i], string(p.Path(i)))
			}
			m.OnDefault[0].Places = places.Build()
			screen.Hide(m, "most", most)
		}
	})
	b.Run("known", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			screen.Hide(m, "most", most)
		}
	})
}
