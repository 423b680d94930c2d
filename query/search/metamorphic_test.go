package search

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

var roundsFlag = flag.Int("rounds", 4, "corpora of the metamorphic test")

// firstSeed returns QUARRY_SEED, or 0.
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

// An asker generates random queries for a corpus.
type asker struct {
	*rand.Rand
	m *model
}

func (a asker) pick(from ...string) string { return from[a.IntN(len(from))] }

// query generates a query that can be printed, so that it can be rerun manually.
func (a asker) query() *syntax.Parsed {
	q := &syntax.Parsed{Root: a.tree(a.IntN(3))}
	switch a.IntN(8) {
	case 0:
		q.Type = syntax.TypeKind(1 + a.IntN(3))
	case 1:
		q.Select = syntax.SelectKind(1 + a.IntN(4))
	case 2:
		q.Type, q.Select = syntax.TypeKind(a.IntN(4)), syntax.SelectKind(a.IntN(5))
	}
	return q
}

func (a asker) tree(depth int) syntax.Query {
	if depth == 0 {
		return a.leaf()
	}
	switch a.IntN(6) {
	case 0:
		return &syntax.Or{Children: []syntax.Query{a.tree(depth - 1), a.tree(depth - 1)}}
	case 1, 2:
		if child := a.tree(depth - 1); !isConst(child) {
			return &syntax.And{Children: []syntax.Query{a.tree(depth - 1), &syntax.Not{Child: child}}}
		}
	case 3:
		return a.leaf()
	}
	return &syntax.And{Children: []syntax.Query{a.tree(depth - 1), a.tree(depth - 1)}}
}

func isConst(q syntax.Query) bool {
	_, ok := q.(*syntax.Const)
	return ok
}

func (a asker) leaf() syntax.Query {
	c := syntax.CaseYes + syntax.Case(a.IntN(2))
	switch a.IntN(40) {
	case 34, 35:
		return &syntax.Text{Pattern: a.pick("kmaloc", "kmallco", "strcut", "k_malloc", "structt", "retrun", "istabnul", "0123456789012435", "unique"), Case: c}
	case 36, 37:
		return &syntax.FileHas{Pattern: a.pick("kmalloc", "^if", "x.f", "unique", "k", "nowhere"), Case: c}
	case 38, 39:
		has := &syntax.RepoHas{Path: a.pick("", "FILE1", "^test/", `\.c$`, "nowhere"), Content: a.pick("kmalloc", "^if", "x.f", "unique", "nowhere"), Case: c}
		if has.Path != "" && a.IntN(2) == 0 {
			has.Content = ""
		}
		return has
	case 30:
		return &syntax.Is{Trait: syntax.Trait(a.IntN(4))}
	case 31:
		kinds := syntax.Kinds{Words: [][]string{{"struct"}, {"func"}, {"struct", "method"}, {"class"}, {"type"}}[a.IntN(5)], Not: a.IntN(3) == 0}
		return &syntax.Symbol{Pattern: a.pick(".", "kmal", "^struct$", "^k"), Case: c, Kinds: []syntax.Kinds{kinds}, Lines: a.lines()}
	case 32:
		return &syntax.Text{Pattern: a.pick("if", "k", "a", "return", "struct", "kmalloc"), Case: c, Lines: a.lines()}
	case 33:
		return &syntax.Text{Pattern: a.expression(1), Regexp: true, Case: c, Lines: a.lines()}
	case 0, 1:
		return &syntax.File{Pattern: a.pick("src", "^test/", `\.c$`, "FILE1", ".", "x*", `(?s)lib.*\d`, "fiel1", "^scr/"), Case: c}
	case 2:
		return &syntax.Repo{Pattern: a.pick("repo1", "^HOST/", ".", "repo[02]$", "x*", "rpeo", "host/repoo"), Case: c}
	case 3:
		return &syntax.Language{Name: a.pick("go", "C", "python", "rust", "pyhton")}
	case 4, 5:
		return &syntax.Revision{Pattern: a.pick("dev", "*", "HEAD", "refs/tags/", "e", "nowhere", "mian", "abcdef", "abcdef0", string(code.PinRef(pinnedCommit)))}
	case 6:
		return &syntax.Archived{Want: syntax.Inclusion(a.IntN(3))}
	case 7:
		return &syntax.Fork{Want: syntax.Inclusion(a.IntN(3))}
	case 8:
		return &syntax.Visibility{Want: syntax.Access(a.IntN(3))}
	case 9:
		return &syntax.RepoSet{Names: []string{"host/repo1", "host/repo7"}[:1+a.IntN(2)]}
	case 10, 11, 12:
		return &syntax.Symbol{Pattern: a.pick("kmal", "^struct$", ".", "KMALLOC", "x*", "a.*c", "(?s)k.*", `t\nk`, "u", "^k", "c$", "^kmalloc", "^parse$"), Case: c}
	case 13:
		return &syntax.Const{Value: a.IntN(2) == 0}
	case 14, 15, 16, 17, 18:
		return &syntax.Text{Pattern: a.excerpt(), Case: c}
	case 19:
		return &syntax.Text{Pattern: a.pick("{", "a", "k", "ß", "if", "é", "世", "\ufffd", "12", "_", " ", "\t"), Case: c}
	}
	return &syntax.Text{Pattern: a.expression(2), Regexp: true, Case: c}
}

// lines generates up to two conditions on lines.
func (a asker) lines() []syntax.Line {
	var all []syntax.Line
	for range a.IntN(3) {
		all = append(all, syntax.Line{
			Pattern: a.pick("kfree", "x", "^ret", "STRUCT", "[{(]", "err|TODO", "const$", "foo.bar", "[0-9]"), Case: syntax.CaseYes + syntax.Case(a.IntN(2)), Not: a.IntN(2) == 0,
		})
	}
	return all
}

// excerpt returns a literal that occurs, or nearly occurs, in the corpus.
func (a asker) excerpt() string {
	text := a.m.documents[a.IntN(len(a.m.documents))].text
	start := a.IntN(len(text))
	piece := text[start:min(start+1+a.IntN(1<<(1+a.IntN(7))), len(text))]
	s := strings.ToValidUTF8(string(piece), "")
	switch a.IntN(5) {
	case 0:
		s = strings.ToUpper(s)
	case 1:
		s = strings.ToLower(s)
	case 2:
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	if s == "" {
		return "if"
	}
	return s
}

// expression generates a regular expression from the vocabulary of the corpus.
func (a asker) expression(depth int) string {
	if depth == 0 {
		return a.atom()
	}
	sub := func() string { return a.expression(depth - 1) }
	for {
		s := ""
		switch a.IntN(9) {
		case 0:
			s = "(" + sub() + "|" + sub() + ")"
		case 1:
			s = "(?:" + sub() + ")" + a.pick("*", "+", "?", "??", "*?", "{2}", "{1,3}", "{5,}")
		case 2:
			s = "(?i:" + sub() + ")"
		case 3:
			s = a.pick("^", `\b`, `\A`) + sub()
		case 4:
			s = sub() + a.pick("$", `\b`, `\B`)
		case 5:
			s = sub() + a.pick(`\n`, "\n", `\r\n`, `[\n]`, `$\n^`, `(?s:.)`, `\s*\n`, `\r?\n`) + sub()
		default:
			s = sub() + sub()
		}
		if _, err := regexp.Compile(s); err == nil {
			return s
		}
	}
}

func (a asker) atom() string {
	if a.IntN(3) == 0 {
		return regexp.QuoteMeta(vocabularyText(a.Rand))
	}
	return a.pick(".", ".*", `\w+`, `\s`, `[a-c]{3}`, `[^\x00-\x7F]{2}`, `\d{1,2}`, `[0-9]{12}`, `\pL`, `\p{Greek}+`, `[^a]`, `[[:upper:]]`, `x*`, `k\w+c`,
		`x.f`, `[ks]`, `\x{212a}`, `\PL`, `[éß]`, `\S{20}`, `\x{fffd}`, `a|b|(err)`, `[^\n]`, "$", "^",
		`[0-9a-f]{16}`, `\w{20}`, "^if$", `^\s+if`, `^kfree\(x\)$`, "^return$", "err$")
}

func vocabularyText(rng *rand.Rand) string {
	return strings.ToValidUTF8(vocabulary[rng.IntN(len(vocabulary))], "")
}

// TestMetamorphic compares random queries on random corpora with a plain scan, for
// the same corpus in one segment and in several.
func TestMetamorphic(t *testing.T) {
	s := newSearcher(Options{})
	for round := range *roundsFlag {
		seed := firstSeed(t) + uint64(round)
		rng := rand.New(rand.NewPCG(seed, 77))
		many := newModel(t, rng)
		one := *many
		one.build(t, 1)
		ask := asker{rng, many}
		judge := &oracle{t: t, m: many, compiled: map[string]*regexp.Regexp{}}
		for range 25 {
			judge.q = ask.query()
			text := judge.q.String()
			parsed, err := syntax.Parse(text, syntax.Options{})
			if err != nil || !syntax.Equal(parsed.Root, judge.q.Root) {
				t.Fatalf("seed %d: %s: %v", seed, text, err)
			}
			want := judge.wholeAnswer()
			t.Run(fmt.Sprintf("seed=%d/%s", seed, text), func(t *testing.T) {
				for name, m := range map[string]*model{"one segment": &one, "many segments": many} {
					c := checker{t, s, m, parsed, want, name}
					c.checkAnswer(rng)
				}
			})
		}
	}
}

// TestMetamorphicOnLongLists does the same for a few queries on a text with posting lists
// of all kinds.
func TestMetamorphicOnLongLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(firstSeed(t), 78))
	m := newModel(t, rng)
	for range 6 {
		m.addDocument(rng, fillerText(rng, 400<<10))
	}
	kinds := map[uint64]bool{}
	m.build(t, 1)
	m.listKinds(t, kinds)
	if len(kinds) < 3 {
		t.Fatalf("of three kinds of posting lists only %d are there", len(kinds))
	}
	judge := &oracle{t: t, m: m, compiled: map[string]*regexp.Regexp{}}
	for _, text := range []string{"kmalloc", "kmalloc or kfree", "kmalloc kfree struct", "straße", "naïve -struct", "regex:struct.*STRASSE", "sym:kmalloc naïve rev:*", "structkfree"} {
		judge.q = parse(t, text)
		c := checker{t, newSearcher(Options{}), m, judge.q, judge.wholeAnswer(), text}
		c.checkAnswer(rng)
	}
}

// listKinds records the kinds of the posting lists of the vocabulary.
func (m *model) listKinds(t *testing.T, kinds map[uint64]bool) {
	for _, seg := range m.segments {
		var cursor segment.Cursor
		for _, word := range vocabulary {
			for _, trigram := range postings.AppendTrigrams(nil, postings.AppendFold(nil, []byte(word))) {
				ref := seg.Reader.FindList(trigram)
				if ref.Bytes() == 0 {
					continue
				}
				list, err := seg.Reader.List(&cursor, ref)
				if err != nil {
					t.Fatal(err)
				}
				// A detail of the codec that no other code depends on.
				kinds[max(reflect.ValueOf(list).FieldByName("kind").Uint(), shortList)] = true
			}
		}
		if err := cursor.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// shortList represents all kinds of short lists, whose kind is their length.
const shortList = 0x7f

// A checker compares the answers to a query with the expected ones.
type checker struct {
	t    *testing.T
	s    *Searcher
	m    View
	q    *syntax.Parsed
	want expected
	name string
}

func (c *checker) search(r Request) *Result {
	c.t.Helper()
	r.Query = c.q
	got, err := c.s.Search(c.t.Context(), c.m, r)
	if err != nil {
		c.t.Fatal(err)
	}
	got.Release() // one Searcher runs all queries of the test
	return got
}

func (c *checker) checkAnswer(rng *rand.Rand) {
	c.t.Helper()
	got := c.search(Request{Matches: 1 << 20, ContextLines: rng.IntN(3), Whole: true})
	if got.Stats.Matches != c.want.matches || got.Stats.Displayed != c.want.matches || got.Stats.Files != len(c.want.files) || !got.Exhaustive {
		c.logDifference(got)
		c.t.Fatalf("%s: %d matches (%d shown) in %d files, exhaustive %v, want %d in %d", c.name, got.Stats.Matches, got.Stats.Displayed,
			got.Stats.Files, got.Exhaustive, c.want.matches, len(c.want.files))
	}
	c.checkPart(got, c.want.matches)
	for i := range got.Files {
		checkRanges(c.t, &got.Files[i])
	}
	for _, limit := range []int{1, 3 + rng.IntN(20), max(c.want.matches-1, 1), max(c.want.matches, 1)} {
		c.checkLimit(limit)
	}
}

// logDifference logs the files that are found but not expected, and vice versa.
func (c *checker) logDifference(got *Result) {
	c.t.Helper()
	found := map[string][]spot{}
	for i := range got.Files {
		f := &got.Files[i]
		found[fileKey(f.Repo.Name, f.Path, f.Content)] = spotsOf(f)
	}
	logged := 0
	for key, spots := range c.want.files {
		if have, ok := found[key]; (!ok || !sameSpots(have, spots)) && logged < 3 {
			logged++
			c.t.Logf("%q: found %v (%v), want %v", key, firstSpots(have), ok, firstSpots(spots))
		}
	}
	for key, spots := range found {
		if _, ok := c.want.files[key]; !ok && logged < 6 {
			logged++
			c.t.Logf("%q: found %v, want nothing", key, firstSpots(spots))
		}
	}
}

func firstSpots(spots []spot) []spot { return spots[:min(len(spots), 8)] }

func sameSpots(a, b []spot) bool {
	return slices.EqualFunc(a, b, func(x, y spot) bool { return x.start == y.start && x.end == y.end })
}

// isPartOf reports whether want contains all spots in order.
func isPartOf(spots, want []spot) bool {
	for _, s := range spots {
		i := slices.IndexFunc(want, func(w spot) bool { return w.start == s.start && w.end == s.end })
		if i < 0 {
			return false
		}
		want = want[i+1:]
	}
	return true
}

func spotsOf(f *FileMatch) (spots []spot) {
	for _, chunk := range f.Chunks {
		for _, r := range chunk.Ranges {
			spots = append(spots, spot{r.Start.ByteOffset, r.End.ByteOffset, false})
		}
	}
	return spots
}

// checkPart checks that the answer shows n of the expected matches, each once.
func (c *checker) checkPart(got *Result, n int) {
	c.t.Helper()
	shown, seen := len(got.Repositories), map[string]bool{}
	for i, r := range got.Repositories {
		if !c.want.repos[r.Name] || i > 0 && got.Repositories[i-1].Name >= r.Name {
			c.t.Fatalf("%s: repository %s is not expected, or not there", c.name, r.Name)
		}
	}
	for i := range got.Files {
		f := &got.Files[i]
		key := fileKey(f.Repo.Name, f.Path, f.Content)
		want, ok := c.want.files[key]
		spots := spotsOf(f)
		if !ok || seen[key] || len(spots) > len(want) || !isPartOf(spots, want) || len(spots) == 0 && len(want) > 0 {
			c.t.Fatalf("%s: %s/%s: found %v, want %v of %v", c.name, f.Repo.Name, f.Path, firstSpots(spots), ok, firstSpots(want))
		}
		if (len(spots) == 0) != (len(f.PathRanges) > 0) {
			c.t.Fatalf("%s: %s/%s: %d matches and %d in the path", c.name, f.Repo.Name, f.Path, len(spots), len(f.PathRanges))
		}
		seen[key] = true
		shown += max(len(spots), 1)
	}
	if shown != n || got.Stats.Displayed != n {
		c.t.Fatalf("%s: %d matches shown, %d said to be, want %d", c.name, shown, got.Stats.Displayed, n)
	}
}

// checkLimit checks that a limited answer is a stable part of the whole answer, and
// reports whether it is the whole.
func (c *checker) checkLimit(limit int) {
	c.t.Helper()
	total := c.want.matches
	limited := c.search(Request{Matches: limit, Whole: true})
	if limited.Stats.Matches != min(total, limit+1) || limited.Exhaustive != (total <= limit) || (limited.Stopped == StopMatchLimit) != (total > limit) {
		c.t.Fatalf("%s: limit %d of %d: %d matches, exhaustive %v, stopped by %q", c.name, limit, total, limited.Stats.Matches, limited.Exhaustive, limited.Stopped)
	}
	c.checkPart(limited, min(total, limit))
	again := c.search(Request{Matches: limit, Whole: true})
	if fmt.Sprint(resultNames(limited)) != fmt.Sprint(resultNames(again)) {
		c.t.Fatalf("%s: limit %d: two answers", c.name, limit)
	}
	few := c.search(Request{Matches: 1 << 20, Display: limit, Whole: true})
	if few.Stats.Matches != total || !few.Exhaustive {
		c.t.Fatalf("%s: display %d: %d matches, want %d", c.name, limit, few.Stats.Matches, total)
	}
	c.checkPart(few, min(total, limit))
}

// checkRanges checks that chunks consist of whole lines and that ranges have correct
// positions.
func checkRanges(t *testing.T, f *FileMatch) {
	t.Helper()
	last := 0
	for _, c := range f.Chunks {
		start := c.Start.ByteOffset
		if start < last || !bytes.HasPrefix(f.Content[start:], c.Content) || start > 0 && f.Content[start-1] != '\n' || c.Start.Column != 1 {
			t.Fatalf("%s: chunk at %v is no run of whole lines, or overlaps another", f.Path, c.Start)
		}
		last = start + len(c.Content)
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

func resultNames(r *Result) (out []string) {
	for _, repo := range r.Repositories {
		out = append(out, repo.Name)
	}
	for i := range r.Files {
		out = append(out, fmt.Sprint(r.Files[i].Repo.Name, " ", r.Files[i].Path, spotsOf(&r.Files[i])))
	}
	return out
}
