package search

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/code"
)

// A modelPlace is a file on a ref.
type modelPlace struct {
	repo int
	path string
	ref  code.Ref
	doc  *modelDocument
}

// A modelDocument is the content of files.
type modelDocument struct {
	text    []byte
	lang    code.Language
	symbols []code.Symbol
}

// A model is a corpus and the view of an index built from it.
type model struct {
	documents []*modelDocument
	places    []modelPlace
	repos     []*Repository
	segments  []Segment
	branches  []Segment
	refs      []code.Ref
}

func (m *model) Segments() []Segment         { return m.segments }
func (m *model) Repositories() []*Repository { return m.repos }
func (m *model) Release()                    {}

// Revisions returns the places on the matching refs, as the contract requires.
func (m *model) Revisions(_ context.Context, match func(*Repository, code.Ref) bool) ([]Segment, []code.Ref, error) {
	out := make([]Segment, len(m.branches))
	for i, s := range m.branches {
		b := segment.NewPlacesBuilder(s.Reader.Documents())
		for p := range s.Places.Len() {
			repo, ref := s.Places.Repo[p], s.Places.Ref[p]
			if match(m.repos[repo], m.refs[ref]) {
				b.Add(s.Places.Doc[p], repo, ref, s.Places.Flags[p], string(s.Places.Path(p)))
			}
		}
		out[i] = s
		out[i].Places = b.Build()
	}
	return out, m.refs, nil
}

// vocabulary contains text that is likely to break patterns: letters that fold across
// scripts and lengths, invalid UTF-8, repetitions, punctuation.
var vocabulary = []string{
	"kmalloc", "Kmalloc", "kfree", "if", "return", "x", "{", "}", "(", ")", "->", "err", "0123456789012345", "naïve", "NAÏVE",
	"\u212a", "straße", "STRASSE", "STRAẞE", "世界", "\xff\xfe", "\xc3", "foo.bar", "::", "a", "aa", "aaaa", "struct", "const", "TODO", "_ops", "12", "\t",
	"ſet", "Set", "İstanbul", "istanbul", "ΣΑΣ", "σας", "é", "É", "e\u0301", "\u2028", "\ufffd", "\r", "\x0b", "k", "K", "ab", "abab",
}

// lineEnds are the line ends of a text: every text has its own mix.
var lineEnds = [][]string{{"\n"}, {"\r\n"}, {"\n", "\n", "\r\n"}, {"\n", "\r\n", "\n\n", "\r\r\n"}}

func randomText(rng *rand.Rand) []byte {
	var b bytes.Buffer
	ends, words := lineEnds[rng.IntN(len(lineEnds))], vocabulary
	if rng.IntN(2) == 0 {
		words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.IndexFunc(w, func(r rune) bool { return r >= 0x80 }) >= 0 })
	}
	for range rng.IntN(1 << rng.IntN(9)) {
		for range rng.IntN(8) {
			b.WriteString(words[rng.IntN(len(words))])
			b.WriteString([]string{" ", "", ", "}[rng.IntN(3)])
		}
		if rng.IntN(300) == 0 {
			b.WriteString(strings.Repeat("long line ", rng.IntN(3000)))
		}
		b.WriteString(ends[rng.IntN(len(ends))])
	}
	if rng.IntN(3) == 0 {
		b.WriteString("no line feed at the end")
	}
	return b.Bytes()
}

// fillerText returns a text of n bytes with common, occasional and rare words, so that
// posting lists have all densities.
func fillerText(rng *rand.Rand, n int) []byte {
	var b bytes.Buffer
	for line := 0; b.Len() < n; line++ {
		fmt.Fprintf(&b, "return filler_%d;", rng.IntN(1<<20))
		for i, word := range []string{"kmalloc", "kfree", "struct", "naïve", "straße"} {
			if rng.IntN(20<<(2*i)) == 0 {
				b.WriteString(word)
			}
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// pinnedCommit is a commit that is indexed as a pin.
var pinnedCommit = code.CommitID(strings.Repeat("abcdef0123", 4))

// newSearcher returns a Searcher whose answers do not depend on the speed of the machine:
// its limits on time, which are shares of MaxDuration, are minutes.
func newSearcher(o Options) *Searcher {
	o.MaxDuration = cmp.Or(o.MaxDuration, 10*time.Hour)
	o.MaxWait = cmp.Or(o.MaxWait, time.Hour)
	return New(o)
}

// newModel generates a corpus and an index of two to four segments.
func newModel(t testing.TB, rng *rand.Rand) *model {
	m := &model{refs: []code.Ref{"refs/heads/main", "refs/heads/dev", "refs/tags/v1", code.PinRef(pinnedCommit)}}
	for i := range 1 + rng.IntN(3) {
		m.repos = append(m.repos, &Repository{Repository: code.Repository{
			ID: code.RepositoryID(i + 1), Name: fmt.Sprintf("host/repo%d", i), DefaultBranch: "main", Archived: i == 1, Fork: i == 2, Private: i == 0,
		}})
	}
	for i := range 5 + rng.IntN(60) {
		m.addDocument(rng, fmt.Appendf(randomText(rng), "unique%d", i))
	}
	m.build(t, 2+rng.IntN(3))
	return m
}

// addDocument adds a document at some places.
func (m *model) addDocument(rng *rand.Rand, text []byte) {
	d := &modelDocument{text: text, lang: []code.Language{"C", "Go", "Python"}[rng.IntN(3)], symbols: modelSymbols(text)}
	m.documents = append(m.documents, d)
	for range rng.IntN(4) {
		p := modelPlace{
			repo: rng.IntN(len(m.repos)), path: fmt.Sprintf("%s/file%d.c", []string{"src", "test", "lib", "src/docs"}[rng.IntN(4)], rng.IntN(1000)),
			ref: m.refs[rng.IntN(len(m.refs))], doc: d,
		}
		m.places = append(m.places, p)
		for _, ref := range m.refs {
			if ref != p.ref && rng.IntN(3) == 0 {
				m.places = append(m.places, modelPlace{p.repo, p.path, ref, d})
			}
		}
	}
}

// build builds an index of n segments and distributes the documents over them.
func (m *model) build(t testing.TB, n int) {
	taken := map[modelPlace]bool{}
	m.places = slices.DeleteFunc(m.places, func(p modelPlace) bool {
		p.doc = nil // a path on a ref has one document
		again := taken[p]
		taken[p] = true
		return again
	})
	slices.SortFunc(m.places, func(a, b modelPlace) int {
		return cmp.Or(cmp.Compare(a.repo, b.repo), cmp.Compare(slices.Index(m.refs, a.ref), slices.Index(m.refs, b.ref)), strings.Compare(a.path, b.path))
	})
	m.segments, m.branches = nil, nil
	for i := range n {
		var documents []*modelDocument
		for k := i; k < len(m.documents); k += n {
			documents = append(documents, m.documents[k])
		}
		if len(documents) > 0 {
			m.addSegment(t, documents)
		}
	}
}

func (m *model) addSegment(t testing.TB, documents []*modelDocument) {
	b := segment.NewBuilder(segment.Options{Seed: []byte{byte(len(m.segments))}, Grams: len(m.segments)%2 == 0})
	for _, d := range documents {
		doc := segment.Document{Key: code.DocumentKey{Blob: sha1.Sum(d.text), Language: d.lang}, Text: d.text, Symbols: d.symbols}
		if bytes.IndexFunc(d.text, func(r rune) bool { return r >= 0x80 }) < 0 {
			doc.Flags = code.FlagASCII
		}
		doc.Flags |= d.flags()
		if err := b.Add(doc); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "segment")
	if _, err := b.Finish(path); err != nil {
		t.Fatal(err)
	}
	f, err := segment.OpenFile(path, segment.NewCache(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	main, every := segment.NewPlacesBuilder(f.Documents()), segment.NewPlacesBuilder(f.Documents())
	of := map[*modelDocument][]modelPlace{}
	for _, p := range m.places {
		of[p.doc] = append(of[p.doc], p)
	}
	for i, d := range documents {
		for _, p := range of[d] {
			every.Add(segment.DocID(i), uint32(p.repo), uint32(slices.Index(m.refs, p.ref)), pathFlags(p.path), p.path)
			if p.ref == m.repos[p.repo].DefaultRef() {
				main.Add(segment.DocID(i), uint32(p.repo), segment.NoRef, pathFlags(p.path), p.path)
			}
		}
	}
	inEvery := every.Build()
	origins := slices.Compact(slices.Sorted(slices.Values(inEvery.Repo)))
	m.segments = append(m.segments, Segment{Reader: f.Reader, Places: main.Build(), Origins: origins})
	m.branches = append(m.branches, Segment{Reader: f.Reader, Places: inEvery, Origins: origins})
}

// pathFlags and flags return the flags of the files of the corpus.
func pathFlags(path string) (flags code.Flags) {
	if strings.HasPrefix(path, "test/") {
		flags |= code.FlagTest
	}
	if strings.HasPrefix(path, "lib/") {
		flags |= code.FlagVendored
	}
	return flags
}

func (d *modelDocument) flags() code.Flags {
	if bytes.Contains(d.text, []byte("TODO")) {
		return code.FlagGenerated
	}
	return 0
}

// modelKind returns the kind of a symbol with that name.
func modelKind(name string) code.SymbolKind {
	if strings.EqualFold(name, "struct") {
		return "struct"
	}
	return "function"
}

// modelSymbols treats every kmalloc and struct as a definition.
func modelSymbols(text []byte) []code.Symbol {
	var out []code.Symbol
	for _, loc := range regexp.MustCompile(`(?i)kmalloc|struct`).FindAllIndex(text, -1) {
		if len(out) < 300 {
			out = append(out, code.Symbol{
				Name: string(text[loc[0]:loc[1]]), Kind: modelKind(string(text[loc[0]:loc[1]])), Offset: uint32(loc[0]),
				Line: uint32(bytes.Count(text[:loc[0]], newline)) + 1,
			})
		}
	}
	return out
}
