package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/query/search/searchtest"
)

// TestRanking checks which files come first for queries on a small corpus, and why.
// Commands:
//
//	repository name=… [archived] [fork] [pushed=year]
//	segment          seal a segment; each line of input is "repository path flags language text",
//	                 where flags are - or some of test,vendored,generated; the word after
//	                 func, class, def, struct or var is a symbol, and \n a line break
//	search [matches=n] [display=n]
//	lines [matches=n] [display=n]
//	                 the lines shown of each file, and which of them are the best
func TestRanking(t *testing.T) {
	m := &searchtest.Model{}
	datadriven.RunTest(t, "testdata/ranking", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "repository":
			m.DescribeRepository(t, d)
			return ""
		case "segment":
			m.AddSources(t, d.Input)
			return ""
		case "search":
			return rankAnswer(t, m, d)
		case "lines":
			return bestLines(t, m, d)
		}
		d.Fatalf(t, "unknown command")
		return ""
	})
}

func bestLines(t *testing.T, m *searchtest.Model, d *datadriven.TestData) string {
	request := Request{Query: searchtest.Parse(t, d.Input), Matches: 1000}
	d.MaybeScanArgs(t, "matches", &request.Matches)
	d.MaybeScanArgs(t, "display", &request.Display)
	r, err := newSearcher(Options{}).Search(t.Context(), m, request)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, f := range r.Files {
		var shown []int
		for _, c := range f.Chunks {
			for _, at := range c.Ranges {
				shown = append(shown, at.Start.LineNumber)
			}
		}
		fmt.Fprintf(&b, "%s: lines %v, best %v\n", f.Path, slices.Compact(shown), f.BestLines)
	}
	return b.String()
}

func rankAnswer(t *testing.T, m *searchtest.Model, d *datadriven.TestData) string {
	request := Request{Query: searchtest.Parse(t, d.Input), Matches: 1000, Explain: true}
	d.MaybeScanArgs(t, "matches", &request.Matches)
	d.MaybeScanArgs(t, "display", &request.Display)
	r, err := newSearcher(Options{}).Search(t.Context(), m, request)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, f := range r.Explain.Files {
		fmt.Fprintf(&b, "%.0f %s %s: %s\n", f.Score, f.Repository, f.Path, strings.Join(f.Reasons, ", "))
	}
	if r.Stopped != StopNone {
		fmt.Fprintf(&b, "%s: %d matches\n", r.Stopped, r.Stats.Matches)
	}
	return b.String()
}

// TestRareTermsWeighMore searches for two terms, one of which is in every file. The file
// with more of the other term comes first.
func TestRareTermsWeighMore(t *testing.T) {
	m := &searchtest.Model{}
	var lines strings.Builder
	lines.WriteString("host/a a.go - Go manyWord;\\nmanyWord;\\nmanyWord;\\nrareWord\n")
	lines.WriteString("host/a b.go - Go manyWord;\\nrareWord;\\nrareWord;\\nrareWord\n")
	for i := range 50 {
		fmt.Fprintf(&lines, "host/a filler%d.go - Go manyWord %s\n", i, strings.Repeat(fmt.Sprintf("filler%d ", i), 100))
	}
	m.AddSources(t, strings.TrimSpace(lines.String()))
	r, err := newSearcher(Options{}).Search(t.Context(), m, Request{Query: searchtest.Parse(t, "manyWord rareWord"), Matches: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range r.Files {
		paths = append(paths, f.Path)
	}
	if !slices.Equal(paths, []string{"b.go", "a.go"}) {
		t.Errorf("files %v, want b.go, which has more of the rare term, before a.go", paths)
	}
}

// TestTestWord checks which queries ask for test code: not those that name it in a filter.
func TestTestWord(t *testing.T) {
	for text, want := range map[string]bool{
		"fix failing tests for alpha": true, "Test that alpha is kept": true, "alpha in unit-tests": true, "test: alpha": true, "spec": true, "alpha or tests or beta": true,
		"where is the (test) of alpha?": true, "the last alpha": false, "testify alpha": false, "alpha -tests beta gamma": false, "alpha beta -file:test/": false,
		`alpha beta repo:^example\.com/test-tools$`: false, "alpha beta file:spec lang:Go": false,
	} {
		if testWord.MatchString(text) != want {
			t.Errorf("%q asks for tests: %t", text, !want)
		}
	}
}
