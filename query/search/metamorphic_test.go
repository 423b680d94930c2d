package search

import (
	"bytes"
	"context"
	"crypto/sha1"
	"flag"
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
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

var roundsFlag = flag.Int("rounds", 4, "corpora of the metamorphic test")

// firstSeed is QUARRY_SEED, or 0.
func firstSeed(t *testing.T) uint64 {
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

// A place of the model: a file on a ref.
type modelPlace struct {
	repo    int
	path    string
	ref     code.Ref
	text    []byte
	lang    code.Language
	symbols []code.Symbol
}

// A model is a corpus, and the view of an index built of it.
type model struct {
	places   []modelPlace
	repos    []*Repository
	segments []Segment
	branches []Segment
	refs     []code.Ref
	cache    *segment.Cache
}

func (m *model) Segments() []Segment         { return m.segments }
func (m *model) Repositories() []*Repository { return m.repos }
func (m *model) Release()                    {}
func (m *model) Revisions(context.Context, func(*Repository, code.Ref) bool) ([]Segment, []code.Ref, error) {
	return m.branches, m.refs, nil
}

var vocabulary = []string{
	"kmalloc", "Kmalloc", "kfree", "if", "return", "x", "{", "}", "(", ")", "->", "err", "0123456789012345", "naïve", "NAÏVE",
	"K", "straße", "STRASSE", "世界", "\xff\xfe", "foo.bar", "::", "a", "struct", "const", "TODO", "_ops", "12", "\t", "ſet",
}

func randomText(rng *rand.Rand) []byte {
	var b bytes.Buffer
	lines := rng.IntN(1 << rng.IntN(9))
	for range lines {
		for range rng.IntN(8) {
			b.WriteString(vocabulary[rng.IntN(len(vocabulary))])
			b.WriteString([]string{" ", "", ", "}[rng.IntN(3)])
		}
		if rng.IntN(300) == 0 {
			b.WriteString(strings.Repeat("long line ", rng.IntN(3000)))
		}
		b.WriteString([]string{"\n", "\n", "\n", "\r\n"}[rng.IntN(4)])
	}
	if rng.IntN(3) == 0 {
		b.WriteString("no line feed at the end")
	}
	return b.Bytes()
}

func newModel(t *testing.T, rng *rand.Rand) *model {
	m := &model{refs: []code.Ref{"refs/heads/main", "refs/heads/dev"}, cache: segment.NewCache(12 * segment.FrameBytes)}
	t.Cleanup(func() {
		if held := m.cache.Stats().Held; held != 0 {
			t.Errorf("searches left %d frames held", held)
		}
		_ = m.cache.Close()
	})
	for i := range 1 + rng.IntN(3) {
		m.repos = append(m.repos, &Repository{Repository: code.Repository{
			ID: code.RepositoryID(i + 1), Name: fmt.Sprintf("host/repo%d", i), DefaultBranch: "main", Archived: i == 1,
		}})
	}
	builders := 1 + rng.IntN(4)
	for n := range builders {
		m.addSegment(t, rng, n)
	}
	return m
}

func (m *model) addSegment(t *testing.T, rng *rand.Rand, n int) {
	b := segment.NewBuilder(segment.Options{Seed: []byte{byte(n)}})
	type placed struct {
		doc segment.DocID
		p   modelPlace
	}
	var all []placed
	for i := range 1 + rng.IntN(25) {
		text := append(randomText(rng), fmt.Sprintf("unique%d_%d", n, i)...)
		p := modelPlace{text: text, lang: code.Language([]string{"C", "Go", "Python"}[rng.IntN(3)])}
		p.symbols = modelSymbols(text)
		doc := segment.Document{Key: code.DocumentKey{Blob: sha1.Sum(text), Language: p.lang}, Text: text, Symbols: p.symbols}
		if bytes.IndexFunc(text, func(r rune) bool { return r >= 0x80 }) < 0 {
			doc.Flags = code.FlagASCII
		}
		if err := b.Add(doc); err != nil {
			t.Fatal(err)
		}
		for range rng.IntN(3) {
			q := p
			q.repo, q.path = rng.IntN(len(m.repos)), fmt.Sprintf("%s/file%d_%d.c", []string{"src", "test", "lib"}[rng.IntN(3)], n, rng.IntN(1000))
			q.ref = m.refs[rng.IntN(2)]
			all = append(all, placed{segment.DocID(i), q})
		}
	}
	path := filepath.Join(t.TempDir(), fmt.Sprint(n))
	if _, err := b.Finish(path); err != nil {
		t.Fatal(err)
	}
	f, err := segment.OpenFile(path, m.cache)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	slices.SortStableFunc(all, func(a, b placed) int {
		return strings.Compare(fmt.Sprintf("%06d %d %s %s", a.doc, a.p.repo, a.p.path, a.p.ref), fmt.Sprintf("%06d %d %s %s", b.doc, b.p.repo, b.p.path, b.p.ref))
	})
	all = slices.CompactFunc(all, func(a, b placed) bool {
		return a.doc == b.doc && a.p.repo == b.p.repo && a.p.path == b.p.path && a.p.ref == b.p.ref
	})
	main, every := segment.NewPlacesBuilder(f.Documents()), segment.NewPlacesBuilder(f.Documents())
	for _, x := range all {
		m.places = append(m.places, x.p)
		every.Add(x.doc, uint32(x.p.repo), uint32(slices.Index(m.refs, x.p.ref)), 0, x.p.path)
		if x.p.ref == m.refs[0] {
			main.Add(x.doc, uint32(x.p.repo), segment.NoRef, 0, x.p.path)
		}
	}
	m.segments = append(m.segments, Segment{f.Reader, main.Build()})
	m.branches = append(m.branches, Segment{f.Reader, every.Build()})
}

// modelSymbols takes every kmalloc and struct for a definition.
func modelSymbols(text []byte) []code.Symbol {
	var out []code.Symbol
	for _, loc := range regexp.MustCompile(`(?i)kmalloc|struct`).FindAllIndex(text, -1) {
		if len(out) < 300 {
			out = append(out, code.Symbol{
				Name: string(text[loc[0]:loc[1]]), Kind: "function", Offset: uint32(loc[0]),
				Line: uint32(bytes.Count(text[:loc[0]], newline)) + 1,
			})
		}
	}
	return out
}

// count is the plain scan: matches of a pattern, line by line.
func count(t *testing.T, pattern string, isRegexp, fold bool, text []byte) int {
	if !isRegexp {
		pattern = regexp.QuoteMeta(pattern)
	}
	flags := "(?m)"
	if fold {
		flags = "(?mi)"
	}
	re, err := regexp.Compile(flags + pattern)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.SplitSeq(text, newline) {
		if strings.Contains(pattern, "$") && !strings.HasSuffix(pattern, `\$`) {
			line = bytes.TrimSuffix(line, []byte("\r"))
		}
		for _, loc := range re.FindAllIndex(line, -1) {
			if loc[0] < loc[1] {
				n++
			}
		}
	}
	return n
}

// matches evaluates a query on a place of the model: whether it is true, and the
// number of matches of the leaves that make it so.
func (m *model) matches(t *testing.T, q syntax.Query, p *modelPlace) (bool, int) {
	switch q := q.(type) {
	case *syntax.And:
		sum := 0
		for _, k := range q.Children {
			ok, n := m.matches(t, k, p)
			if !ok {
				return false, 0
			}
			sum += n
		}
		return true, sum
	case *syntax.Or:
		any, sum := false, 0
		for _, k := range q.Children {
			ok, n := m.matches(t, k, p)
			any, sum = any || ok, sum+n
		}
		return any, sum
	case *syntax.Not:
		ok, _ := m.matches(t, q.Child, p)
		return !ok, 0
	case *syntax.Text:
		n := count(t, q.Pattern, q.Regexp, q.Case != syntax.CaseYes, p.text)
		return n > 0, n
	case *syntax.Symbol:
		re, n := expression(q.Pattern, q.Case), 0
		for _, s := range p.symbols {
			if re.MatchString(s.Name) {
				n++
			}
		}
		return n > 0, n
	case *syntax.File:
		return expression(q.Pattern, q.Case).MatchString(p.path), 0
	case *syntax.Repo:
		return regexp.MustCompile("(?i)" + q.Pattern).MatchString(m.repos[p.repo].Name), 0
	case *syntax.Language:
		return strings.EqualFold(q.Name, string(p.lang)), 0
	case *syntax.Revision:
		return strings.Contains(string(p.ref), q.Pattern) || q.Pattern == "*", 0
	}
	t.Fatalf("no model for %T", q)
	return false, 0
}

func expression(pattern string, c syntax.Case) *regexp.Regexp {
	if c != syntax.CaseYes {
		pattern = "(?i)" + pattern
	}
	return regexp.MustCompile(pattern)
}

func randomQuery(rng *rand.Rand) string {
	terms := []string{
		"kmalloc", "KFREE", "if", "x", "{", "naïve", "k", "世界", "straße", `case:yes Kmalloc`, `"foo.bar"`, "unique1_3", "absent_word",
		`regex:[0-9]{12}`, `regex:[0-9a-f]{16}`, `regex:\w{20}`, `regex:^if$`, `regex:^\s+if`, `regex:^kfree(x);$`, "sym:^k", "sym:e$", "sym:^parse$", `regex:^kmalloc`, `regex:err$`, `regex:(kmalloc|kfree|struct)`, `regex:k\w+c`, `regex:[^\x00-\x7F]{2}`,
		`regex:str.*if`, `regex:\bif\b`, `regex:.`, `regex:\s{2}`, `regex:a|b|(err)`, `regex:[a-c]{3}`, `regex:k?x*`, "ü", "ß", `regex:x.f`, `regex:\d{1,2}\.`, "return", "long",
		"file:src", "file:test", "repo:repo1", "lang:go", "lang:c", "sym:kmal", "sym:^struct$", `file:\.c$`, "sym:.", "repo:.",
	}
	pick := func() string { return terms[rng.IntN(len(terms))] }
	switch rng.IntN(8) {
	case 0:
		return pick() + " " + pick()
	case 1:
		return pick() + " or " + pick()
	case 2:
		return pick() + " -(" + pick() + ")"
	case 3:
		return "(" + pick() + " or " + pick() + ") " + pick()
	case 4:
		return pick() + " rev:dev"
	case 5:
		return pick() + " rev:*"
	}
	return pick()
}

// TestMetamorphic compares random queries on random corpora with a plain scan.
func TestMetamorphic(t *testing.T) {
	s := New(Options{})
	for round := range *roundsFlag {
		seed := firstSeed(t) + uint64(round)
		rng := rand.New(rand.NewPCG(seed, 77))
		m := newModel(t, rng)
		for range 50 {
			text := randomQuery(rng)
			parsed, err := syntax.Parse(text, syntax.Options{})
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			t.Run(fmt.Sprintf("seed=%d/%s", seed, text), func(t *testing.T) { m.check(t, s, parsed, rng) })
		}
	}
}

func (m *model) check(t *testing.T, s *Searcher, q *syntax.Parsed, rng *rand.Rand) {
	files, total := map[string]int{}, 0
	single := !strings.ContainsAny(strings.TrimPrefix(q.Text, "case:yes "), " ")
	for i := range m.places {
		p := &m.places[i]
		if !syntax.HasRevision(q.Root) && p.ref != m.refs[0] {
			continue
		}
		if ok, n := m.matches(t, q.Root, p); ok {
			key := fileKey(m.repos[p.repo].Name, p.path, p.text)
			if _, seen := files[key]; !seen {
				total += max(n, 1)
			}
			files[key] = n
		}
	}
	got, err := s.Search(t.Context(), m, Request{Query: q, Matches: 1 << 20, ContextLines: rng.IntN(3), Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for i := range got.Files {
		f := &got.Files[i]
		key := fileKey(f.Repo.Name, f.Path, f.Content)
		if _, want := files[key]; !want || found[key] {
			t.Fatalf("file %s/%s does not match, or twice", f.Repo.Name, f.Path)
		}
		found[key] = true
		checkRanges(t, f)
	}
	if len(found) != len(files) || got.Stats.Files != len(files) || !got.Exhaustive {
		t.Fatalf("%d files, stats %d, want %d", len(found), got.Stats.Files, len(files))
	}
	if single && got.Stats.Matches != total {
		t.Fatalf("%d matches, want %d", got.Stats.Matches, total)
	}
	m.checkLimits(t, s, q, got)
}

func fileKey(repo, path string, text []byte) string {
	return fmt.Sprintf("%s %s %x", repo, path, sha1.Sum(text))
}

// checkRanges holds that chunks are whole lines and that ranges say where they are.
func checkRanges(t *testing.T, f *FileMatch) {
	t.Helper()
	for _, c := range f.Chunks {
		start := c.Start.ByteOffset
		if !bytes.HasPrefix(f.Content[start:], c.Content) || start > 0 && f.Content[start-1] != '\n' || c.Start.Column != 1 {
			t.Fatalf("%s: chunk at %v is no run of whole lines", f.Path, c.Start)
		}
		for i, r := range c.Ranges {
			if i > 30 && i+5 < len(c.Ranges) {
				continue // the check looks at the text from its start
			}
			for _, l := range []Location{r.Start, r.End} {
				before := f.Content[:l.ByteOffset]
				line := bytes.Count(before, newline) + 1
				column := len([]rune(string(before[bytes.LastIndexByte(before, '\n')+1:]))) + 1
				if l.LineNumber != line || l.Column != column {
					t.Fatalf("%s: location %+v, want line %d column %d", f.Path, l, line, column)
				}
			}
			if i > 0 && r.Start.ByteOffset < c.Ranges[i-1].End.ByteOffset {
				t.Fatalf("%s: ranges overlap: %v", f.Path, c.Ranges)
			}
			if r.End.ByteOffset > start+len(c.Content) || r.Start.ByteOffset < start {
				t.Fatalf("%s: range %v outside of its chunk", f.Path, r)
			}
		}
		if len(c.Symbols) != 0 && len(c.Symbols) != len(c.Ranges) {
			t.Fatalf("%s: %d symbols for %d ranges", f.Path, len(c.Symbols), len(c.Ranges))
		}
	}
}

// checkLimits holds that a limited answer is a stable part of the whole one.
func (m *model) checkLimits(t *testing.T, s *Searcher, q *syntax.Parsed, all *Result) {
	t.Helper()
	for _, limit := range []int{1, 3, 20} {
		r := Request{Query: q, Matches: limit}
		a, err := s.Search(t.Context(), m, r)
		if err != nil {
			t.Fatal(err)
		}
		if want := min(all.Stats.Matches, limit+1); a.Stats.Matches != want || a.Exhaustive != (all.Stats.Matches <= limit) || a.Stats.Displayed > limit {
			t.Fatalf("limit %d of %d: %d matches, exhaustive %v, %d displayed", limit, all.Stats.Matches, a.Stats.Matches, a.Exhaustive, a.Stats.Displayed)
		}
		b, err := s.Search(t.Context(), m, r)
		if err != nil || fmt.Sprint(names(a)) != fmt.Sprint(names(b)) {
			t.Fatalf("limit %d: unstable: %v", limit, err)
		}
		few, err := s.Search(t.Context(), m, Request{Query: q, Matches: 1 << 20, Display: limit})
		if err != nil || few.Stats.Matches != all.Stats.Matches || few.Stats.Displayed > limit {
			t.Fatalf("display %d: %d matches, want %d: %v", limit, few.Stats.Matches, all.Stats.Matches, err)
		}
	}
}

func names(r *Result) (out []string) {
	for i := range r.Files {
		out = append(out, r.Files[i].Repo.Name+" "+r.Files[i].Path)
	}
	return out
}
