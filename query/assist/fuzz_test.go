package assist

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/plan"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// FuzzSearchIsAScan runs a pattern through the n-gram lookup of a real segment and the
// matchers, and compares the result with a scan of the text: the index must never be too
// narrow. gap shifts the text, so that it crosses block boundaries.
func FuzzSearchIsAScan(f *testing.F) {
	f.Add(`(kmalloc|kzalloc)\(`, true, true, []byte("x = KMALLOC(3)\nkzalloc("), uint16(4090))
	f.Add(`foo$\n^bar`, true, false, []byte("foo\r\nbar foo\nbar"), uint16(8188))
	f.Add("a\ufffdb", true, true, []byte("A\xffb a\ufffdB"), uint16(3))
	f.Add("straße", false, true, []byte("STRASSE STRAẞE straße"), uint16(4095))
	f.Add(`[0-9]{16}|\pL{9}`, true, false, []byte("12345678901234567890 αβγδεζηθι"), uint16(4080))
	f.Add("k", false, true, []byte("\u212a K k \u017f"), uint16(0))
	f.Fuzz(checkIsAScan)
}

// TestSearchIsAScan does the same for patterns and texts that are likely to match.
func TestSearchIsAScan(t *testing.T) {
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 5))
		text := searchtest.RandomText(rng)
		text = text[:min(len(text), 1500)]
		a := searchtest.Asker{Rand: rng, Model: &searchtest.Model{Documents: []*searchtest.ModelDocument{{Text: append(text, 'x')}}}}
		pattern, isRegexp := a.RandomExcerpt(), rng.IntN(2) == 0
		if isRegexp {
			pattern = a.RandomExpression(2)
		}
		checkIsAScan(t, pattern, isRegexp, rng.IntN(2) == 0, text, uint16(rng.IntN(9000)))
	}
}

func checkIsAScan(t *testing.T, pattern string, isRegexp, fold bool, text []byte, gap uint16) {
	if pattern == "" || len(pattern) > 100 || len(text) > 2000 || !utf8.ValidString(pattern) {
		return
	}
	expression := pattern
	if !isRegexp {
		expression = regexp.QuoteMeta(pattern)
	}
	p, err := plan.Regexp(expression, fold)
	if err != nil || p.Instructions > 2000 {
		return
	}
	flags := "(?m:"
	if fold {
		flags = "(?mi:"
	}
	re, err := regexp.Compile(flags + expression + ")")
	if err != nil {
		return
	}
	c := syntax.CaseYes
	if fold {
		c = syntax.CaseNo
	}
	padded := append(bytes.Repeat([]byte("~"), int(gap)%9000), "\n"...)
	padded = append(padded, text...)
	d := &searchtest.ModelDocument{Text: padded}
	m := &searchtest.Model{
		Documents: []*searchtest.ModelDocument{d, {Text: []byte("another")}}, Refs: []code.Ref{"refs/heads/main"},
		Repos:  []*corpus.Repository{{Repository: code.Repository{ID: 1, Name: "r", DefaultBranch: "main"}}},
		Places: []searchtest.ModelPlace{{Path: "a", Ref: "refs/heads/main", Doc: d}},
	}
	m.BuildIndex(t, 1)
	q := &syntax.Parsed{Root: &syntax.Text{Pattern: pattern, Regexp: isRegexp, Case: c}}
	r, err := newSearcher(search.Options{}).Search(t.Context(), m, search.Request{Query: q, Matches: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var got []searchtest.Spot
	for i := range r.Files {
		got = append(got, spotsOf(&r.Files[i])...)
	}
	want := searchtest.ScanText(re, p.Multiline, !p.KeepCR, padded)
	if !isRegexp {
		want = searchtest.ScanText(re, strings.Contains(pattern, "\n"), strings.Contains(pattern, "\n") && !strings.Contains(pattern, "\r"), padded)
	}
	if !sameSpots(got, want) {
		t.Fatalf("%q (regexp %v, fold %v) in %q behind %d bytes: found %v, want %v", pattern, isRegexp, fold, text, gap, firstSpots(got), firstSpots(want))
	}
}
