package assist

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/syntax"
)

var roundsFlag = flag.Int("rounds", 4, "corpora of the metamorphic test")

// TestMetamorphic compares random queries on random corpora with a plain scan, for
// the same corpus in one segment and in several.
func TestMetamorphic(t *testing.T) {
	s := newSearcher(search.Options{})
	for round := range *roundsFlag {
		seed := searchtest.FirstSeed(t) + uint64(round)
		rng := rand.New(rand.NewPCG(seed, 77))
		many := searchtest.NewModel(t, rng)
		one := *many
		one.BuildIndex(t, 1)
		ask := searchtest.Asker{Rand: rng, Model: many}
		judge := &searchtest.Oracle{T: t, Model: many, Compiled: map[string]*regexp.Regexp{}}
		for range 25 {
			judge.Query = ask.RandomQuery()
			text := judge.Query.String()
			parsed, err := syntax.Parse(text, syntax.Options{})
			if err != nil || !syntax.Equal(parsed.Root, judge.Query.Root) {
				t.Fatalf("seed %d: %s: %v", seed, text, err)
			}
			want := judge.WholeAnswer()
			t.Run(fmt.Sprintf("seed=%d/%s", seed, text), func(t *testing.T) {
				for name, m := range map[string]*searchtest.Model{"one segment": &one, "many segments": many} {
					c := checker{t, s, m, parsed, want, name}
					c.checkAnswer(rng)
				}
			})
		}
	}
}

// TestMetamorphicOnLongLists does the same for a few queries on a text with posting lists
// of all kinds, and with lines of many blocks that begin with a capital.
func TestMetamorphicOnLongLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(searchtest.FirstSeed(t), 78))
	m := searchtest.NewModel(t, rng)
	for range 6 {
		m.AddDocument(rng, searchtest.FillerText(rng, 400<<10))
		line := bytes.ReplaceAll(searchtest.FillerText(rng, 30<<10), []byte("\n"), []byte(" "))
		m.AddDocument(rng, fmt.Appendf(nil, "Kmalloc first\n\nKfree %s Struct\n%sStruct %s Kfree\n", line, searchtest.FillerText(rng, 12<<10), line))
	}
	kinds := map[uint64]bool{}
	m.BuildIndex(t, 1)
	listKinds(t, m, kinds)
	if len(kinds) < 3 {
		t.Fatalf("of three kinds of posting lists only %d are there", len(kinds))
	}
	judge := &searchtest.Oracle{T: t, Model: m, Compiled: map[string]*regexp.Regexp{}}
	for _, text := range []string{"kmalloc", "kmalloc or kfree", "kmalloc kfree struct", "straße", "naïve -struct", "regex:struct.*STRASSE", "sym:kmalloc naïve rev:*", "structkfree",
		"case:yes Kmalloc", "case:yes Kfree", "case:yes kfree -Kfree", "regex:Kfree.*Struct", "case:yes regex:Kfree.*Struct", "case:yes regex:Struct.*Kfree", "regex:kmalloc.*first"} {
		judge.Query = searchtest.Parse(t, text)
		c := checker{t, newSearcher(search.Options{}), m, judge.Query, judge.WholeAnswer(), text}
		c.checkAnswer(rng)
	}
}

// listKinds records the kinds of the posting lists of the vocabulary.
func listKinds(t *testing.T, m *searchtest.Model, kinds map[uint64]bool) {
	for _, seg := range m.OnDefault {
		var cursor segment.Cursor
		for _, word := range searchtest.Vocabulary {
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
	m    corpus.View
	q    *syntax.Parsed
	want searchtest.Expected
	name string
}

func (c *checker) search(r search.Request) *search.Result {
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
	got := c.search(search.Request{Matches: 1 << 20, ContextLines: rng.IntN(3), Whole: true})
	if got.Stats.Matches != c.want.Matches || got.Stats.Displayed != c.want.Matches || got.Stats.Files != len(c.want.Files) || !got.Exhaustive {
		c.logDifference(got)
		c.t.Fatalf("%s: %d matches (%d shown) in %d files, exhaustive %v, want %d in %d", c.name, got.Stats.Matches, got.Stats.Displayed,
			got.Stats.Files, got.Exhaustive, c.want.Matches, len(c.want.Files))
	}
	c.checkPart(got, c.want.Matches)
	for i := range got.Files {
		checkRanges(c.t, &got.Files[i])
	}
	for _, limit := range []int{1, 3 + rng.IntN(20), max(c.want.Matches-1, 1), max(c.want.Matches, 1)} {
		c.checkLimit(limit)
	}
}

// logDifference logs the files that are found but not expected, and vice versa.
func (c *checker) logDifference(got *search.Result) {
	c.t.Helper()
	found := map[string][]searchtest.Spot{}
	for i := range got.Files {
		f := &got.Files[i]
		found[searchtest.FileKey(f.Repo.Name, f.Path, f.Content)] = spotsOf(f)
	}
	logged := 0
	for key, spots := range c.want.Files {
		if have, ok := found[key]; (!ok || !sameSpots(have, spots)) && logged < 3 {
			logged++
			c.t.Logf("%q: found %v (%v), want %v", key, firstSpots(have), ok, firstSpots(spots))
		}
	}
	for key, spots := range found {
		if _, ok := c.want.Files[key]; !ok && logged < 6 {
			logged++
			c.t.Logf("%q: found %v, want nothing", key, firstSpots(spots))
		}
	}
}

func firstSpots(spots []searchtest.Spot) []searchtest.Spot { return spots[:min(len(spots), 8)] }

func sameSpots(a, b []searchtest.Spot) bool {
	return slices.EqualFunc(a, b, func(x, y searchtest.Spot) bool { return x.Start == y.Start && x.End == y.End })
}

// isPartOf reports whether want contains all spots in order.
func isPartOf(spots, want []searchtest.Spot) bool {
	for _, s := range spots {
		i := slices.IndexFunc(want, func(w searchtest.Spot) bool { return w.Start == s.Start && w.End == s.End })
		if i < 0 {
			return false
		}
		want = want[i+1:]
	}
	return true
}

func spotsOf(f *search.FileMatch) (spots []searchtest.Spot) {
	for _, chunk := range f.Chunks {
		for _, r := range chunk.Ranges {
			spots = append(spots, searchtest.Spot{Start: r.Start.ByteOffset, End: r.End.ByteOffset})
		}
	}
	return spots
}

// checkPart checks that the answer shows n of the expected matches, each once.
func (c *checker) checkPart(got *search.Result, n int) {
	c.t.Helper()
	shown, seen := len(got.Repositories), map[string]bool{}
	for i, r := range got.Repositories {
		if !c.want.Repos[r.Name] || i > 0 && got.Repositories[i-1].Name >= r.Name {
			c.t.Fatalf("%s: repository %s is not expected, or not there", c.name, r.Name)
		}
	}
	for i := range got.Files {
		f := &got.Files[i]
		key := searchtest.FileKey(f.Repo.Name, f.Path, f.Content)
		want, ok := c.want.Files[key]
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
	total := c.want.Matches
	limited := c.search(search.Request{Matches: limit, Whole: true})
	if limited.Stats.Matches != min(total, limit+1) || limited.Exhaustive != (total <= limit) || (limited.Stopped == search.StopMatchLimit) != (total > limit) {
		c.t.Fatalf("%s: limit %d of %d: %d matches, exhaustive %v, stopped by %q", c.name, limit, total, limited.Stats.Matches, limited.Exhaustive, limited.Stopped)
	}
	c.checkPart(limited, min(total, limit))
	again := c.search(search.Request{Matches: limit, Whole: true})
	if fmt.Sprint(resultNames(limited)) != fmt.Sprint(resultNames(again)) {
		c.t.Fatalf("%s: limit %d: two answers", c.name, limit)
	}
	few := c.search(search.Request{Matches: 1 << 20, Display: limit, Whole: true})
	if few.Stats.Matches != total || !few.Exhaustive {
		c.t.Fatalf("%s: display %d: %d matches, want %d", c.name, limit, few.Stats.Matches, total)
	}
	c.checkPart(few, min(total, limit))
}

// checkRanges checks that chunks consist of whole lines and that ranges have correct
// positions.
func checkRanges(t *testing.T, f *search.FileMatch) {
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
			for _, l := range []search.Location{r.Start, r.End} {
				before := f.Content[:l.ByteOffset]
				line := bytes.Count(before, []byte{'\n'}) + 1
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

func resultNames(r *search.Result) (out []string) {
	for _, repo := range r.Repositories {
		out = append(out, repo.Name)
	}
	for i := range r.Files {
		out = append(out, fmt.Sprint(r.Files[i].Repo.Name, " ", r.Files[i].Path, spotsOf(&r.Files[i])))
	}
	return out
}
