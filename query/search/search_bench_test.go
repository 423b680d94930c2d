package search

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/identifier"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// BenchmarkSmallSearch runs searches with and without results on a corpus of a few files.
// It measures the cost apart from reading text.
func BenchmarkSmallSearch(b *testing.B) {
	m := searchtest.NewModel(b, rand.New(rand.NewPCG(1, 90)))
	s := New(Options{})
	for _, c := range []struct{ name, query string }{
		{"term", "kmalloc"},
		{"filters", "kmalloc repo:^host/ lang:c -file:^test/"},
		{"nothing", "nosuchword"},
		{"filter selects nothing", "kmalloc lang:nosuch"},
	} {
		r := Request{Query: searchtest.Parse(b, c.query), Matches: 100}
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

// BenchmarkStages runs searches on 16 MB of text. Each query spends its time in different
// stages.
func BenchmarkStages(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 94))
	m := &searchtest.Model{Refs: []code.Ref{"refs/heads/main"}}
	m.Repos = []*corpus.Repository{{Repository: code.Repository{ID: 1, Name: "host/many", DefaultBranch: "main"}}}
	for file := range 1000 {
		d := &searchtest.ModelDocument{Lang: "C", Text: searchtest.FillerText(rng, 16<<10)}
		d.Symbols = searchtest.ModelSymbols(d.Text)
		m.Documents = append(m.Documents, d)
		m.Places = append(m.Places, searchtest.ModelPlace{Repo: 0, Path: fmt.Sprintf("dir%d/f%d.c", file%20, file), Ref: "refs/heads/main", Doc: d})
	}
	m.BuildIndex(b, 4)
	s := New(Options{})
	for _, c := range []struct{ name, query string }{
		{"common term", "kmalloc"}, {"rare term", "straße"}, {"two terms", "kfree straße"}, {"or", "naïve or straße"},
		{"regexp", `regex:filler_12[0-9]*;kfree`}, {"automaton", `regex:[0-9]{6};$`}, {"path", "kfree file:^dir7/"}, {"symbols", "type:symbol kmalloc"},
		{"files", "type:file kfree -straße"},
	} {
		r := Request{Query: searchtest.Parse(b, c.query), Matches: 1000, Display: 50}
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

var symbolsFlag = flag.Int("symbols", 50_000, "symbols of BenchmarkAdvice")

// BenchmarkAdvice searches for names with a typing error, and in another style, among many symbols.
func BenchmarkAdvice(b *testing.B) {
	const perFile = 500
	rng := rand.New(rand.NewPCG(1, 92))
	words := make([]string, 3000)
	for i := range words {
		for range 2 + rng.IntN(3) {
			words[i] += string("bcdfghlmnprstvwz"[rng.IntN(16)]) + string("aeiou"[rng.IntN(5)])
		}
	}
	m := &searchtest.Model{Refs: []code.Ref{"refs/heads/main"}}
	m.Repos = []*corpus.Repository{{Repository: code.Repository{ID: 1, Name: "host/many", DefaultBranch: "main"}}}
	var names []string
	for file := range *symbolsFlag / perFile {
		d := &searchtest.ModelDocument{Lang: "Go"}
		for line := range perFile {
			name := words[rng.IntN(len(words))]
			for range 1 + rng.IntN(3) {
				w := words[rng.IntN(len(words))]
				name += strings.ToUpper(w[:1]) + w[1:]
			}
			names = append(names, name)
			d.Symbols = append(d.Symbols, code.Symbol{Name: name, Kind: "function", Offset: uint32(len(d.Text)), Line: uint32(line) + 1})
			d.Text = append(append(d.Text, name...), "(x int) { return x }\n"...)
		}
		m.Documents = append(m.Documents, d)
		m.Places = append(m.Places, searchtest.ModelPlace{Repo: 0, Path: fmt.Sprintf("f%d.go", file), Ref: "refs/heads/main", Doc: d})
	}
	m.BuildIndex(b, 4)
	name := names[len(names)/2]
	swapped := name[:4] + string(name[5]) + string(name[4]) + name[6:]
	s := New(Options{})
	for _, c := range []struct{ name, query string }{
		{"swapped letters", swapped}, {"eight letters", "bacedofq"}, {"style", strings.Join(identifier.Words(name), "_")}, {"nothing near", "qqqqxxqqqqxxqqq"},
	} {
		r := Request{Query: searchtest.Parse(b, c.query), Matches: 100}
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
