package search

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/search/internal/identifier"
	"github.com/quarrysearch/quarry/schemas/code"
)

// BenchmarkSmallSearch runs searches with and without results on a corpus of a few files.
// It measures the cost apart from reading text.
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

// BenchmarkStages runs searches on 16 MB of text. Each query spends its time in different
// stages.
func BenchmarkStages(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 94))
	m := &model{refs: []code.Ref{"refs/heads/main"}}
	m.repos = []*Repository{{Repository: code.Repository{ID: 1, Name: "host/many", DefaultBranch: "main"}}}
	for file := range 1000 {
		d := &modelDocument{lang: "C", text: fillerText(rng, 16<<10)}
		d.symbols = modelSymbols(d.text)
		m.documents = append(m.documents, d)
		m.places = append(m.places, modelPlace{0, fmt.Sprintf("dir%d/f%d.c", file%20, file), "refs/heads/main", d})
	}
	m.build(b, 4)
	s := New(Options{})
	for _, c := range []struct{ name, query string }{
		{"common term", "kmalloc"}, {"rare term", "straße"}, {"two terms", "kfree straße"}, {"or", "naïve or straße"},
		{"regexp", `regex:filler_12[0-9]*;kfree`}, {"automaton", `regex:[0-9]{6};$`}, {"path", "kfree file:^dir7/"}, {"symbols", "type:symbol kmalloc"},
		{"files", "type:file kfree -straße"},
	} {
		r := Request{Query: parse(b, c.query), Matches: 1000, Display: 50}
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
	m := &model{refs: []code.Ref{"refs/heads/main"}}
	m.repos = []*Repository{{Repository: code.Repository{ID: 1, Name: "host/many", DefaultBranch: "main"}}}
	var names []string
	for file := range *symbolsFlag / perFile {
		d := &modelDocument{lang: "Go"}
		for line := range perFile {
			name := words[rng.IntN(len(words))]
			for range 1 + rng.IntN(3) {
				w := words[rng.IntN(len(words))]
				name += strings.ToUpper(w[:1]) + w[1:]
			}
			names = append(names, name)
			d.symbols = append(d.symbols, code.Symbol{Name: name, Kind: "function", Offset: uint32(len(d.text)), Line: uint32(line) + 1})
			d.text = append(append(d.text, name...), "(x int) { return x }\n"...)
		}
		m.documents = append(m.documents, d)
		m.places = append(m.places, modelPlace{0, fmt.Sprintf("f%d.go", file), "refs/heads/main", d})
	}
	m.build(b, 4)
	name := names[len(names)/2]
	swapped := name[:4] + string(name[5]) + string(name[4]) + name[6:]
	s := New(Options{})
	for _, c := range []struct{ name, query string }{
		{"swapped letters", swapped}, {"eight letters", "bacedofq"}, {"style", strings.Join(identifier.Words(name), "_")}, {"nothing near", "qqqqxxqqqqxxqqq"},
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
