package assist

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestNotices runs testdata/notices. Commands:
//
//	corpus                      each line is "repository[,archived|fork|private|name=display]... ref path language text"
//	search [hide=name] [regexp] each line is a query; hide leaves out the repositories with name in their name
func TestNotices(t *testing.T) {
	m := &searchtest.Model{}
	s := newSearcher(search.Options{Contexts: map[string]corpus.Context{
		"backend":  func(name string) bool { return strings.Contains(name, "kettle") },
		"frontend": func(name string) bool { return strings.Contains(name, "teapot") },
		"empty":    func(string) bool { return false },
	}})
	screen := corpus.NewScreen(corpus.ScreenOptions{})
	datadriven.RunTest(t, "testdata/notices", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "corpus":
			m.AddFiles(t, d.Input)
			return ""
		case "search":
			view, hide := corpus.View(m), ""
			if d.MaybeScanArgs(t, "hide", &hide); hide != "" {
				view = screen.Hide(m, hide, func(r *code.Repository) bool { return !strings.Contains(r.Name, hide) })
			}
			var b strings.Builder
			for text := range strings.SplitSeq(d.Input, "\n") {
				b.WriteString(text + "\n" + describeNotices(t, s, view, text, syntax.Options{Regexp: d.HasArg("regexp")}))
			}
			return b.String()
		}
		d.Fatalf(t, "unknown command")
		return ""
	})
}

func describeNotices(t *testing.T, s *Searcher, view corpus.View, text string, o syntax.Options) string {
	parsed, err := syntax.Parse(text, o)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Search(t.Context(), view, search.Request{Query: parsed, Matches: 100})
	if err != nil {
		return "    " + err.Error() + "\n"
	}
	streamed, err := s.Stream(t.Context(), view, search.Request{Query: parsed, Matches: 100}, func([]search.FileMatch, search.Stats) error { return nil })
	if err != nil || fmt.Sprint(streamed.Notices) != fmt.Sprint(r.Notices) {
		t.Errorf("%s: %v streamed, %v at once: %v", text, streamed.Notices, r.Notices, err)
	}
	out := fmt.Sprintf("    %d matches\n", r.Stats.Matches)
	for _, n := range r.Notices {
		out += fmt.Sprintf("    %s %d-%d %q: %s %q\n", n.Code, n.At.Start, n.At.End, n.Filter, n.Message, n.Suggestions)
		for _, q := range n.Queries {
			out += "        " + q + "\n"
		}
	}
	return out
}
