package assist

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestRelated runs testdata/related: the files shown in addition to an answer. Commands:
//
//	segment            as in testdata/ranking
//	search [hide=name] each line is a query; hide leaves out the repositories with name in their name
func TestRelated(t *testing.T) {
	m := &searchtest.Model{}
	s := newSearcher(search.Options{})
	screen := corpus.NewScreen(corpus.ScreenOptions{})
	datadriven.RunTest(t, "testdata/related", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "segment":
			m.AddSources(t, d.Input)
			return ""
		case "search":
			view, hide := corpus.View(m), ""
			if d.MaybeScanArgs(t, "hide", &hide); hide != "" {
				view = screen.Hide(m, hide, func(r *code.Repository) bool { return !strings.Contains(r.Name, hide) })
			}
			var b strings.Builder
			for text := range strings.SplitSeq(d.Input, "\n") {
				b.WriteString(text + "\n" + describeRelated(t, s, view, text))
			}
			return b.String()
		}
		d.Fatalf(t, "unknown command")
		return ""
	})
}

func describeRelated(t *testing.T, s *Searcher, view corpus.View, text string) string {
	r, err := s.Search(t.Context(), view, search.Request{Query: searchtest.Parse(t, text), Matches: 100, Related: true})
	if err != nil {
		return "    " + err.Error() + "\n"
	}
	defer r.Release()
	streamed, err := s.Stream(t.Context(), view, search.Request{Query: searchtest.Parse(t, text), Matches: 100, Related: true}, func([]search.FileMatch, search.Stats) error { return nil })
	if err != nil || len(streamed.Related) != len(r.Related) || fmt.Sprint(streamed.Notices) != fmt.Sprint(r.Notices) {
		t.Errorf("%s: %d groups streamed, %d at once: %v", text, len(streamed.Related), len(r.Related), err)
	}
	streamed.Release()
	checkLiteralCounts(t, s, view, text, r)
	out := fmt.Sprintf("    %d matches, exhaustive %v\n", r.Stats.Matches, r.Exhaustive)
	for _, group := range r.Related {
		out += fmt.Sprintf("    %s: %s\n", group.Reason, group.Query)
		for _, f := range group.Files {
			out += describeLines(&f)
		}
	}
	for _, n := range r.Notices {
		if n.Code == syntax.RelatedMatches {
			out += fmt.Sprintf("    %s %d-%d: %s %q\n", n.Code, n.At.Start, n.At.End, n.Message, n.Queries)
		}
	}
	return out
}

func describeLines(f *search.FileMatch) (out string) {
	for _, c := range f.Chunks {
		out += fmt.Sprintf("        %s %s:%d: %s\n", f.Repo.Name, f.Path, c.Start.LineNumber, strings.TrimSpace(string(c.Content)))
	}
	if len(f.Chunks) == 0 {
		out = fmt.Sprintf("        %s %s\n", f.Repo.Name, f.Path)
	}
	return out
}

// checkLiteralCounts checks that an answer with related files otherwise equals the answer
// without them, and the brief one.
func checkLiteralCounts(t *testing.T, s *Searcher, view corpus.View, text string, r *search.Result) {
	t.Helper()
	plain, err := s.Search(t.Context(), view, search.Request{Query: searchtest.Parse(t, text), Matches: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Release()
	if plain.Stats.Matches != r.Stats.Matches || plain.Stats.Files != r.Stats.Files || plain.Exhaustive != r.Exhaustive || len(plain.Files) != len(r.Files) || plain.Related != nil {
		t.Errorf("%s: %d matches in %d files, %d without related files", text, r.Stats.Matches, len(r.Files), plain.Stats.Matches)
	}
	for i := range plain.Files {
		if describeLines(&plain.Files[i]) != describeLines(&r.Files[i]) {
			t.Errorf("%s: file %d is another one without related files", text, i)
		}
	}
	brief, err := s.Search(t.Context(), view, search.Request{Query: searchtest.Parse(t, text), Matches: 100, Brief: true, Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	defer brief.Release()
	if brief.Stats.Matches != plain.Stats.Matches || len(brief.Files) != len(plain.Files) || len(brief.Explain.Probes) > 0 {
		t.Errorf("%s: the brief answer has %d matches and took %d more searches, not %d and none", text, brief.Stats.Matches, len(brief.Explain.Probes), plain.Stats.Matches)
	}
	for _, n := range brief.Notices {
		if n.Code == syntax.TermFindsNothing {
			t.Errorf("%s: the brief answer has the notice %q", text, n.Message)
		}
	}
}

// TestDocumentedRelatedFiles checks docs/query-language.md: each line of a block that
// begins with ```related REASON has a group with that reason, and each line of ```related
// nothing has none.
func TestDocumentedRelatedFiles(t *testing.T) {
	page, err := os.ReadFile("../../docs/query-language.md")
	if err != nil {
		t.Fatal(err)
	}
	m := &searchtest.Model{}
	m.AddSources(t, strings.Join([]string{
		`host/db opts.go - Go var MemTableStopWritesThreshold = 2\nvar maxOpenFiles = 3\nfunc makeRoomForWrite() {}\n`,
		`host/db opts.md - Markdown memtable_stop_writes_threshold, max.open.files\n`,
		`host/db words.txt - Text naïve, naive and resume\n`,
		`host/db .golangci.yaml - YAML linters\n`,
		`host/db token_bucket.go - Go package limit\n`,
		`host/db sstable/reader.go - Go func NewReader() {}\n`,
		`host/db db.go - Go type DB struct\nfunc Close() {} // DB\n`,
		`host/db other.go - Go func NewReader() {}\nfunc Close() {}\n`,
	}, "\n"))
	s, examples := newSearcher(search.Options{}), 0
	for i, block := range strings.Split(string(page), "```") {
		info, text, _ := strings.Cut(block, "\n")
		reason, ok := strings.CutPrefix(info, "related ")
		if i%2 == 0 || !ok {
			continue
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			examples++
			r, err := s.Search(t.Context(), m, search.Request{Query: searchtest.Parse(t, line), Matches: 100, Related: true})
			if err != nil {
				t.Fatal(err)
			}
			have := "nothing"
			if len(r.Related) > 0 {
				have = string(r.Related[0].Reason)
			}
			if have != reason || len(r.Related) > 1 {
				t.Errorf("%s: %s is related, not %s", line, have, reason)
			}
			r.Release()
		}
	}
	if examples < 10 {
		t.Errorf("only %d examples found", examples)
	}
}
