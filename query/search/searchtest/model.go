package searchtest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// A ModelPlace is a file on a ref.
type ModelPlace struct {
	Repo int
	Path string
	Ref  code.Ref
	Doc  *ModelDocument
}

// A ModelDocument is the content of files.
type ModelDocument struct {
	Text    []byte
	Lang    code.Language
	Symbols []code.Symbol
}

// A Model is a corpus and the view of an index built from it.
type Model struct {
	Documents []*ModelDocument
	Places    []ModelPlace
	Repos     []*corpus.Repository
	OnDefault []corpus.Segment
	OnRefs    []corpus.Segment
	Refs      []code.Ref
}

func (m *Model) Segments() []corpus.Segment         { return m.OnDefault }
func (m *Model) Repositories() []*corpus.Repository { return m.Repos }
func (m *Model) Release()                           {}

// Revisions returns the places on the matching refs, as the contract requires.
func (m *Model) Revisions(_ context.Context, match func(*corpus.Repository, code.Ref) bool) ([]corpus.Segment, []code.Ref, error) {
	out := make([]corpus.Segment, len(m.OnRefs))
	for i, s := range m.OnRefs {
		b := segment.NewPlacesBuilder(s.Reader.Documents())
		for p := range s.Places.Len() {
			repo, ref := s.Places.Repo[p], s.Places.Ref[p]
			if match(m.Repos[repo], m.Refs[ref]) {
				b.Add(s.Places.Doc[p], repo, ref, s.Places.Flags[p], string(s.Places.Path(p)))
			}
		}
		out[i] = s
		out[i].Places = b.Build()
	}
	return out, m.Refs, nil
}

// Vocabulary contains text that is likely to break patterns: letters that fold across
// scripts and lengths, invalid UTF-8, repetitions, punctuation.
var Vocabulary = []string{
	"kmalloc", "Kmalloc", "kfree", "if", "return", "x", "{", "}", "(", ")", "->", "err", "0123456789012345", "naïve", "NAÏVE",
	"\u212a", "straße", "STRASSE", "STRAẞE", "世界", "\xff\xfe", "\xc3", "foo.bar", "::", "a", "aa", "aaaa", "struct", "const", "TODO", "_ops", "12", "\t",
	"ſet", "Set", "İstanbul", "istanbul", "ΣΑΣ", "σας", "é", "É", "e\u0301", "\u2028", "\ufffd", "\r", "\x0b", "k", "K", "ab", "abab",
}

// lineEnds are the line ends of a text: every text has its own mix.
var lineEnds = [][]string{{"\n"}, {"\r\n"}, {"\n", "\n", "\r\n"}, {"\n", "\r\n", "\n\n", "\r\r\n"}}

// RandomText returns lines of words from Vocabulary.
func RandomText(rng *rand.Rand) []byte {
	var b bytes.Buffer
	ends, words := lineEnds[rng.IntN(len(lineEnds))], Vocabulary
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

// FillerText returns a text of n bytes with common, occasional and rare words, so that
// posting lists have all densities.
func FillerText(rng *rand.Rand, n int) []byte {
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

// PinnedCommit is a commit that is indexed as a pin.
var PinnedCommit = code.CommitID(strings.Repeat("abcdef0123", 4))

// NewModel generates a corpus and an index of two to four segments.
func NewModel(t testing.TB, rng *rand.Rand) *Model {
	m := &Model{Refs: []code.Ref{"refs/heads/main", "refs/heads/dev", "refs/tags/v1", code.PinRef(PinnedCommit)}}
	for i := range 1 + rng.IntN(3) {
		m.Repos = append(m.Repos, &corpus.Repository{Repository: code.Repository{
			ID: code.RepositoryID(i + 1), Name: fmt.Sprintf("host/repo%d", i), DefaultBranch: "main", Archived: i == 1, Fork: i == 2, Private: i == 0,
		}})
	}
	for i := range 5 + rng.IntN(60) {
		m.AddDocument(rng, fmt.Appendf(RandomText(rng), "unique%d", i))
	}
	m.BuildIndex(t, 2+rng.IntN(3))
	return m
}

// AddDocument adds a document at some places.
func (m *Model) AddDocument(rng *rand.Rand, text []byte) {
	d := &ModelDocument{Text: text, Lang: []code.Language{"C", "Go", "Python"}[rng.IntN(3)], Symbols: ModelSymbols(text)}
	m.Documents = append(m.Documents, d)
	for range rng.IntN(4) {
		p := ModelPlace{
			Repo: rng.IntN(len(m.Repos)), Path: fmt.Sprintf("%s/file%d.c", []string{"src", "test", "lib", "src/docs"}[rng.IntN(4)], rng.IntN(1000)),
			Ref: m.Refs[rng.IntN(len(m.Refs))], Doc: d,
		}
		m.Places = append(m.Places, p)
		for _, ref := range m.Refs {
			if ref != p.Ref && rng.IntN(3) == 0 {
				m.Places = append(m.Places, ModelPlace{p.Repo, p.Path, ref, d})
			}
		}
	}
}

// BuildIndex builds an index of n segments and distributes the documents over them.
func (m *Model) BuildIndex(t testing.TB, n int) {
	taken := map[ModelPlace]bool{}
	m.Places = slices.DeleteFunc(m.Places, func(p ModelPlace) bool {
		p.Doc = nil // a path on a ref has one document
		again := taken[p]
		taken[p] = true
		return again
	})
	slices.SortFunc(m.Places, func(a, b ModelPlace) int {
		return cmp.Or(cmp.Compare(a.Repo, b.Repo), cmp.Compare(slices.Index(m.Refs, a.Ref), slices.Index(m.Refs, b.Ref)), strings.Compare(a.Path, b.Path))
	})
	m.OnDefault, m.OnRefs = nil, nil
	for i := range n {
		var documents []*ModelDocument
		for k := i; k < len(m.Documents); k += n {
			documents = append(documents, m.Documents[k])
		}
		if len(documents) > 0 {
			m.AddSegment(t, documents)
		}
	}
}

// openSegment writes the segment of a builder and opens it until the test ends.
func openSegment(t testing.TB, b *segment.Builder, cache *segment.Cache) *segment.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "segment")
	if _, err := b.Finish(path); err != nil {
		t.Fatal(err)
	}
	f, err := segment.OpenFile(path, cache)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// AddSegment adds a segment with some of the documents.
func (m *Model) AddSegment(t testing.TB, documents []*ModelDocument) {
	b := segment.NewBuilder(segment.Options{Seed: []byte{byte(len(m.OnDefault))}, Grams: len(m.OnDefault)%2 == 0})
	for _, d := range documents {
		doc := segment.Document{Key: code.DocumentKey{Blob: sha1.Sum(d.Text), Language: d.Lang}, Text: d.Text, Symbols: d.Symbols}
		if bytes.IndexFunc(d.Text, func(r rune) bool { return r >= 0x80 }) < 0 {
			doc.Flags = code.FlagASCII
		}
		doc.Flags |= d.documentFlags()
		if err := b.Add(doc); err != nil {
			t.Fatal(err)
		}
	}
	f := openSegment(t, b, segment.NewCache(1<<20))
	main, every := segment.NewPlacesBuilder(f.Documents()), segment.NewPlacesBuilder(f.Documents())
	of := map[*ModelDocument][]ModelPlace{}
	for _, p := range m.Places {
		of[p.Doc] = append(of[p.Doc], p)
	}
	for i, d := range documents {
		for _, p := range of[d] {
			every.Add(segment.DocID(i), uint32(p.Repo), uint32(slices.Index(m.Refs, p.Ref)), pathFlags(p.Path), p.Path)
			if p.Ref == m.Repos[p.Repo].DefaultRef() {
				main.Add(segment.DocID(i), uint32(p.Repo), segment.NoRef, pathFlags(p.Path), p.Path)
			}
		}
	}
	inEvery := every.Build()
	origins := slices.Compact(slices.Sorted(slices.Values(inEvery.Repo)))
	m.OnDefault = append(m.OnDefault, corpus.Segment{Reader: f.Reader, Places: main.Build(), Origins: origins})
	m.OnRefs = append(m.OnRefs, corpus.Segment{Reader: f.Reader, Places: inEvery, Origins: origins})
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

func (d *ModelDocument) documentFlags() code.Flags {
	if bytes.Contains(d.Text, []byte("TODO")) {
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

// ModelSymbols treats every kmalloc and struct as a definition.
func ModelSymbols(text []byte) []code.Symbol {
	var out []code.Symbol
	for _, loc := range regexp.MustCompile(`(?i)kmalloc|struct`).FindAllIndex(text, -1) {
		if len(out) < 300 {
			out = append(out, code.Symbol{
				Name: string(text[loc[0]:loc[1]]), Kind: modelKind(string(text[loc[0]:loc[1]])), Offset: uint32(loc[0]),
				Line: uint32(bytes.Count(text[:loc[0]], []byte{'\n'})) + 1,
			})
		}
	}
	return out
}

// Parse parses a query, which must be valid.
func Parse(t testing.TB, text string) *syntax.Parsed {
	t.Helper()
	p, err := syntax.Parse(text, syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// FirstSeed returns QUARRY_SEED, or 0.
func FirstSeed(t *testing.T) uint64 {
	s := os.Getenv("QUARRY_SEED")
	if s == "" {
		return 0
	}
	seed, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatalf("QUARRY_SEED: %v", err)
	}
	return seed
}
