package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/match"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestJoinedNames checks the identifiers that the terms of a query may form.
func TestJoinedNames(t *testing.T) {
	for text, want := range map[string][]string{
		"parse release":       {"parserelease", "parse_release"},
		"test Reader read at": {"testreaderreadat", "test_Reader_read_at", "test_Readerreadat", "testReader_readat", "testReaderread_at"},
		"one":                 nil,
	} {
		c, err := match.Compile(match.Options{Query: searchtest.Parse(t, text)})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, n := range match.NamesOf(c) {
			if n.Joined {
				names = append(names, n.Exact)
			}
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: %q, want %q", text, names, want)
		}
	}
}

// TestDefinitionInALargeSegment checks that a definition is found first however many
// symbols with its name other repositories define in the same segment, and the class before
// the fields with its name.
func TestDefinitionInALargeSegment(t *testing.T) {
	m := &searchtest.Model{Refs: []code.Ref{"refs/heads/main"}}
	for i := range 2 {
		m.Repos = append(m.Repos, &corpus.Repository{Repository: code.Repository{ID: code.RepositoryID(i + 1), Name: fmt.Sprintf("host/repo%d", i), DefaultBranch: "main"}})
	}
	rng := rand.New(rand.NewPCG(21, 22))
	for i := range 1500 {
		d := &searchtest.ModelDocument{Text: fmt.Appendf(nil, "request = %d\n", rng.IntN(1<<20)), Lang: "C"}
		add := func(name string, kind code.SymbolKind) {
			d.Text = append(append(d.Text, name...), '\n')
			d.Symbols = append(d.Symbols, code.Symbol{Name: name, Kind: kind, Offset: uint32(len(d.Text) - len(name) - 1), Line: uint32(len(d.Symbols) + 2)})
		}
		repo := 0
		if i == 1400 {
			repo = 1
		}
		for k := range 10 { // names that fill the blocks of symbols
			add(fmt.Sprintf("symbol_%d_%d_%d", i, k, rng.IntN(1<<20)), "function")
		}
		if add("request", "field"); repo == 1 || i == 300 {
			d.Symbols[len(d.Symbols)-1].Kind = "class"
		}
		m.Documents = append(m.Documents, d)
		m.Places = append(m.Places, searchtest.ModelPlace{Repo: repo, Path: fmt.Sprintf("src/file%04d.c", i), Ref: m.Refs[0], Doc: d})
		if repo == 1 { // more files than a small limit looks at
			for k := range 200 {
				other := &searchtest.ModelDocument{Text: fmt.Appendf(nil, "use(request, %d); request; request;\n", k), Lang: "C"}
				m.Documents = append(m.Documents, other)
				m.Places = append(m.Places, searchtest.ModelPlace{Repo: 1, Path: fmt.Sprintf("a/use%03d.c", k), Ref: m.Refs[0], Doc: other})
			}
		}
	}
	m.BuildIndex(t, 1)
	for _, matches := range []int{10, 50, 1000, 100_000} {
		for _, display := range []int{10, 200} {
			for text, want := range map[string]string{
				"request repo:repo1": "src/file1400.c", "case:yes request repo:repo1": "src/file1400.c", "request repo:repo0": "src/file0300.c",
			} {
				r, err := newSearcher(Options{}).Search(t.Context(), m, Request{Query: searchtest.Parse(t, text), Matches: matches, Display: min(display, matches)})
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Files) == 0 || r.Files[0].Path != want {
					t.Errorf("%s, %d matches, %d shown: the first of %d files is %s, want %s, which defines the class", text, matches, display, len(r.Files), r.Files[0].Path, want)
				}
			}
		}
	}
}

// TestDefinitionIsNotLostToALimit checks that a small limit shows the definition that a
// large one shows first, in one segment and in many, although hundreds of files repeat its
// name: as their package, as a field, and in their text.
func TestDefinitionIsNotLostToALimit(t *testing.T) {
	for _, size := range []struct{ segments, files int }{{1, 400}, {50, 400}, {1, 120}} {
		segments, defining := size.segments, size.files*5/6
		m := &searchtest.Model{Refs: []code.Ref{"refs/heads/main"}, Repos: []*corpus.Repository{{Repository: code.Repository{ID: 1, Name: "host/repo", DefaultBranch: "main"}}}}
		for i := range size.files {
			d := &searchtest.ModelDocument{Lang: "Go"}
			add := func(name string, kind code.SymbolKind) {
				d.Text = append(append(d.Text, name...), '\n')
				d.Symbols = append(d.Symbols, code.Symbol{Name: name, Kind: kind, Offset: uint32(len(d.Text) - len(name) - 1), Line: uint32(len(d.Symbols) + 1)})
			}
			add("server", "package")
			if i%5 == 0 {
				add("Server", "field")
			}
			if i == defining {
				add("Server", "struct")
			}
			for k := range 200 { // names that fill the blocks of symbols
				add(fmt.Sprintf("symbol_%d_%d", i, k), "function")
			}
			for range 100 {
				d.Text = append(d.Text, "s.Server.run()\n"...)
			}
			m.Documents = append(m.Documents, d)
			m.Places = append(m.Places, searchtest.ModelPlace{Repo: 0, Path: fmt.Sprintf("src/file%04d.go", i), Ref: m.Refs[0], Doc: d})
		}
		m.BuildIndex(t, segments)
		for _, text := range []string{"Server", "server", "Server repo:host", "case:yes Server"} {
			for _, matches := range []int{10, 50, 1000, 5000, 100_000} {
				r, err := newSearcher(Options{}).Search(t.Context(), m, Request{Query: searchtest.Parse(t, text), Matches: matches, Display: min(200, matches)})
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Files) == 0 || r.Files[0].Path != fmt.Sprintf("src/file%04d.go", defining) {
					t.Errorf("%s, %d files in %d segments, %d matches: the first file does not define the struct: %s", text, size.files, segments, matches, r.Files[0].Path)
				}
			}
		}
	}
}

// TestHiddenNamesUseUpNoBound defines a name in many hidden files, before the file that the
// caller may see. The search still finds that file first.
func TestHiddenNamesUseUpNoBound(t *testing.T) {
	m := &searchtest.Model{Refs: []code.Ref{"refs/heads/main"}}
	for i := range 2 {
		m.Repos = append(m.Repos, &corpus.Repository{Repository: code.Repository{ID: code.RepositoryID(i + 1), Name: fmt.Sprint("host/", i), DefaultBranch: "main"}})
	}
	add := func(repo int, path, text string, symbols ...code.Symbol) {
		d := &searchtest.ModelDocument{Text: []byte(text), Lang: "C", Symbols: symbols}
		m.Documents = append(m.Documents, d)
		m.Places = append(m.Places, searchtest.ModelPlace{Repo: repo, Path: path, Ref: "refs/heads/main", Doc: d})
	}
	for i := range 2 * match.MaxDefining {
		text, symbols := fmt.Sprint("soughtname hidden ", i, "\n"), []code.Symbol{{Name: "soughtname", Kind: "function"}}
		for k := range 200 {
			name := fmt.Sprintf("another_symbol_with_a_long_name_%d_%d", i, k)
			symbols = append(symbols, code.Symbol{Name: name, Kind: "function", Offset: uint32(len(text))})
			text += name + "\n"
		}
		add(1, fmt.Sprintf("hidden%d.c", i), text, symbols...)
	}
	for i := range 2 * enoughOfSeveral {
		add(0, fmt.Sprintf("use%d.c", i), fmt.Sprint("soughtname used ", i, "\n", strings.Repeat("filler ", 900)))
	}
	add(0, "last.c", "soughtname defined\n", code.Symbol{Name: "soughtname", Kind: "function"})
	m.BuildIndex(t, 1)
	view := corpus.NewScreen(corpus.ScreenOptions{}).Hide(m, "public", func(r *code.Repository) bool { return r.ID == 1 })
	r, err := newSearcher(Options{}).Search(t.Context(), view, Request{Query: searchtest.Parse(t, "soughtname"), Matches: 5})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Files) == 0 || r.Files[0].Path != "last.c" {
		t.Errorf("the file that defines the name is not the first of %v", fileNames(r))
	}
}
