package search

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkSmallSearch runs searches on a corpus of some files, with and without an answer: what they cost beside
// the text.
func BenchmarkSmallSearch(b *testing.B) {
	m := newModel(b, rand.New(rand.NewPCG(1, 90)))
	s := New(Options{})
	for _, c := range []struct{ name, query string }{
		{"term", "kmalloc"},
		{"filters", "kmalloc repo:^host/ lang:c -file:^test/"},
		{"nothing", "nosuchword"},
		{"filter selects nothing", "kmalloc lang:nosuch"},
	} {
		r := Request{Query: parse(b, c.query), Matches: 100}
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				result, err := s.Search(b.Context(), m, r)
				if err != nil {
					b.Fatal(err)
				}
				result.Release()
			}
		})
	}
}
