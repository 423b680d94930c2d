package growth

import (
	"path"
	"regexp"
	"strings"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
)

// questionKind is a class of queries. Its figure is the geometric mean of the medians of
// its queries.
type questionKind struct {
	name     string
	requests []engine.Request
}

const (
	// firstMatches is the match limit of an ordinary query.
	firstMatches = 100
	// questionsOfKind bounds the queries of each kind that are chosen from the tree.
	questionsOfKind = 8
)

// function matches the names of functions in several languages, which are then searched
// with sym:.
var function = regexp.MustCompile(`(?m)^(?:func|def|fn|function)\s+([A-Za-z_][A-Za-z0-9_]*)`)

// chooseQuestions chooses queries from the tree.
func (b *base) chooseQuestions() []questionKind {
	ask := func(texts ...string) []engine.Request {
		requests := make([]engine.Request, len(texts))
		for i, text := range texts {
			requests[i] = engine.Request{Text: text, Limit: firstMatches}
		}
		return requests
	}
	plain := b.rareWords(questionsOfKind, func(*file) func(string) bool { return func(string) bool { return true } })
	symbols := b.rareWords(questionsOfKind, func(f *file) func(string) bool {
		functions := map[string]bool{}
		for _, m := range function.FindAllSubmatch(f.content, -1) {
			functions[string(m[1])] = true
		}
		return func(word string) bool { return functions[word] }
	})
	for i, s := range symbols {
		symbols[i] = "sym:^" + s + "$"
	}
	return []questionKind{
		{"selective literal", ask(plain...)},
		{"common literal", ask("return", "import", "error")},
		{"exact symbol", ask(symbols...)},
		{"common symbol", ask("sym:init", "sym:get")},
		{"path", ask(b.pathFilters()...)},
		{"no match", ask("zzqqxxyyzz_none", "returnstructerror")},
	}
}

// pathFilters returns filters on files with unique names.
func (b *base) pathFilters() []string {
	var unique []string
	for _, f := range b.files {
		stem, _, _ := strings.Cut(path.Base(f.path), ".")
		if b.names[path.Base(f.path)] == 1 && len(stem) >= 10 && wordPattern.FindString(stem) == stem {
			unique = append(unique, "type:file "+regexp.QuoteMeta(f.path))
		}
	}
	return pickEvenly(unique, questionsOfKind)
}
