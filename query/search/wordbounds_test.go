package search

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/search/searchtest"
)

// textsModel returns an index of files with these texts, named by their numbers.
func textsModel(t *testing.T, texts ...string) *searchtest.Model {
	var sources []string
	for i := range texts {
		sources = append(sources, fmt.Sprintf("host/a %d.c - C %s", i, strings.ReplaceAll(texts[i], "\n", `\n`)))
	}
	m := &searchtest.Model{}
	m.AddSources(t, strings.Join(sources, "\n"))
	return m
}

// compareWithRegexp searches texts for an expression, compares the matches with those of package
// regexp, and returns the number of regular expressions that ran.
func compareWithRegexp(t *testing.T, m *searchtest.Model, q string, fold bool, texts ...string) int {
	t.Helper()
	letterCase, flags := "case:yes ", "(?m)"
	if fold {
		letterCase, flags = "case:no ", "(?mi)"
	}
	query := searchtest.Parse(t, letterCase+"regex:\""+strings.ReplaceAll(q, `\`, `\\`)+`"`)
	expression := regexp.MustCompile(flags + q)
	r, err := newSearcher(Options{}).Search(t.Context(), m, Request{Query: query, Matches: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for i := range r.Files {
		for _, c := range r.Files[i].Chunks {
			for _, x := range c.Ranges {
				found[r.Files[i].Path] += fmt.Sprint(x.Start.ByteOffset, "-", x.End.ByteOffset, " ")
			}
		}
	}
	for i := range texts {
		d, want := fmt.Sprint(i, ".c"), ""
		for _, at := range expression.FindAllStringIndex(texts[i], -1) {
			want += fmt.Sprint(at[0], "-", at[1], " ")
		}
		if found[d] != want {
			t.Errorf("%s%s in %s: found %s, want %s", letterCase, q, d, found[d], want)
		}
	}
	return r.Stats.RegexpsConsidered
}

// TestWordBoundaries compares literals between word boundaries, which no regular expression
// needs to search for, with package regexp: at the ends of lines, documents, blocks and frames, in
// other letters, and after a place that is no word.
func TestWordBoundaries(t *testing.T) {
	text := "k_kk kk kkk k-k.kk\nkk\r\nKk k\u00e9k\u00e9 k\u212a k\u00e9k \xffkk\xff \u00e9kk k k\nKK_ kk"
	for _, n := range []int{1, 4 << 10, 16 << 10, 64 << 10} {
		text += strings.Repeat(".", max(n-len(text)%n-1, 0)) + "kk" + strings.Repeat(" ", n/2) + "kk"
	}
	texts := []string{text, "kk", "kk " + strings.Repeat(" .", 40<<10) + " kk"}
	m := textsModel(t, texts...)
	for _, q := range []string{`\bkk\b`, `kk\b`, `\bkk`, `\bk k\b`, `\b\.k`, `\bkék\b`, `k-\b`, `_\b`} {
		for _, fold := range []bool{false, true} {
			if n := compareWithRegexp(t, m, q, fold, texts...); n > 0 && q != `_\b` {
				t.Errorf("%s, fold %v, ran %d regular expressions", q, fold, n)
			}
		}
	}
}

// TestMixedLetterCase compares expressions that ignore the case of some of their letters with
// package regexp. Letters of the others are in both cases in the texts.
func TestMixedLetterCase(t *testing.T) {
	texts := []string{"dev Dev DEV dEV\nDEV\nDev\nxdev xDev", "DEV", "new.dev\nNEW.dev"}
	m := textsModel(t, texts...)
	for _, q := range []string{
		`[Dd]ev`, `\b[Dd]ev\b`, `^[Dd]ev`, `[Dd]ev$`, `(?i:d)ev`, `\b(?i:d)EV`, `d(?i:EV)`, `(?i)dev`, `(?-i:D)ev`, `\b(?-i:DE)v\b`, `^(?-i:dev)$`, `(?i:new)\.[d]ev`, `[DEd][Ee]v`,
	} {
		for _, fold := range []bool{false, true} {
			compareWithRegexp(t, m, q, fold, texts...)
		}
	}
}
