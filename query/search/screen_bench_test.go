package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// BenchmarkScreen searches ten thousand repositories as a caller who sees all of them,
// one who sees nine of ten, and one who sees a hundred. It also measures the cost of
// computing their visibility, initially and after a segment has changed.
func BenchmarkScreen(b *testing.B) {
	const repositories = 10_000
	rng := rand.New(rand.NewPCG(1, 2))
	m := &model{refs: []code.Ref{"refs/heads/main"}}
	for i := range repositories {
		m.repos = append(m.repos, &Repository{Repository: code.Repository{
			ID: code.RepositoryID(i + 1), Name: fmt.Sprintf("host.example/team%d/repository%d", i%100, i), DefaultBranch: "main",
		}})
		for k := range 3 {
			d := &modelDocument{text: fmt.Appendf(fillerText(rng, 600), "common word%d", i), lang: "C"}
			m.documents = append(m.documents, d)
			m.places = append(m.places, modelPlace{i, fmt.Sprintf("src/file%d.c", k), "refs/heads/main", d})
		}
	}
	m.build(b, 8)
	s, screen := New(Options{}), NewScreen(ScreenOptions{})
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
					var v View = m
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
			newScreenedState(m, most, nil)
		}
	})
	before := newScreenedState(m, most, nil)
	b.Run("segment", func(b *testing.B) {
		for b.Loop() {
			m.segments[0].Places = rebuildPlaces(m.segments[0])
			newScreenedState(m, most, []*screenedState{before})
		}
	})
	b.Run("known", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			screen.Hide(m, "most", most)
		}
	})
}

// BenchmarkClasses searches a thousand private repositories of twenty files, as a caller
// who sees all of them, all but one, or one. Their text is mixed in segments, or apart: a
// segment for each.
func BenchmarkClasses(b *testing.B) {
	const repositories = 1000
	rng := rand.New(rand.NewPCG(1, 2))
	m := &model{refs: []code.Ref{"refs/heads/main"}}
	for i := range repositories {
		m.repos = append(m.repos, &Repository{Repository: code.Repository{ID: code.RepositoryID(i + 1), Name: fmt.Sprintf("host.example/team/repository%d", i), DefaultBranch: "main", Private: true}})
		for k := range 20 {
			d := &modelDocument{text: fmt.Appendf(fillerText(rng, 2<<10), "common word%d_%d", i, k), lang: "C"}
			m.documents = append(m.documents, d)
			m.places = append(m.places, modelPlace{i, fmt.Sprintf("src/file%d.c", k), "refs/heads/main", d})
		}
	}
	mixed, apart := *m, *m
	mixed.addSegment(b, m.documents)
	for of := range slices.Chunk(m.documents, 20) {
		apart.addSegment(b, of)
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
			ask := func(name string, v View) {
				started := time.Now()
				r, err := s.Search(b.Context(), v, Request{Query: q, Matches: 500})
				if err != nil {
					b.Fatal(err)
				}
				r.Release()
				took[name] += time.Since(started)
			}
			for b.Loop() {
				for layout, m := range map[string]*model{"mixed": &mixed, "apart": &apart} {
					ask(layout+"-all-µs", m)
					screen := NewScreen(ScreenOptions{})
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
