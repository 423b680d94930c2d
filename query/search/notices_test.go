package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestNotices runs testdata/notices. Commands:
//
//	corpus                      each line is "repository[,archived|fork|private|name=display]... ref path language text"
//	search [hide=name] [regexp] each line is a query; hide leaves out the repositories with name in their name
func TestNotices(t *testing.T) {
	m := &model{}
	s := newSearcher(Options{Contexts: map[string]Context{
		"backend":  func(name string) bool { return strings.Contains(name, "kettle") },
		"frontend": func(name string) bool { return strings.Contains(name, "teapot") },
		"empty":    func(string) bool { return false },
	}})
	screen := NewScreen(ScreenOptions{})
	datadriven.RunTest(t, "testdata/notices", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "corpus":
			m.corpus(t, d.Input)
			return ""
		case "search":
			view, hide := View(m), ""
			if d.MaybeScanArgs(t, "hide", &hide); hide != "" {
				view = screen.Hide(m, hide, func(r *code.Repository) bool { return !strings.Contains(r.Name, hide) })
			}
			var b strings.Builder
			for text := range strings.SplitSeq(d.Input, "\n") {
				b.WriteString(text + "\n" + s.describeNotices(t, view, text, syntax.Options{Regexp: d.HasArg("regexp")}))
			}
			return b.String()
		}
		d.Fatalf(t, "unknown command")
		return ""
	})
}

func (s *Searcher) describeNotices(t *testing.T, view View, text string, o syntax.Options) string {
	parsed, err := syntax.Parse(text, o)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Search(t.Context(), view, Request{Query: parsed, Matches: 100})
	if err != nil {
		return "    " + err.Error() + "\n"
	}
	streamed, err := s.Stream(t.Context(), view, Request{Query: parsed, Matches: 100}, func([]FileMatch, Stats) error { return nil })
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

// corpus builds the corpus of a script.
func (m *model) corpus(t *testing.T, input string) {
	for line := range strings.SplitSeq(input, "\n") {
		fields := strings.SplitN(line, " ", 5)
		name, flags, _ := strings.Cut(fields[0], ",")
		repo := m.repository(name)
		for flag := range strings.SplitSeq(flags, ",") {
			r := m.repos[repo]
			switch display, named := strings.CutPrefix(flag, "name="); {
			case flag == "archived":
				r.Archived = true
			case flag == "fork":
				r.Fork = true
			case flag == "private":
				r.Private = true
			case named:
				r.DisplayName = display
			}
		}
		if len(fields) < 5 {
			continue // none of it is indexed
		}
		ref := code.Ref(fields[1])
		if !slices.Contains(m.refs, ref) {
			m.refs = append(m.refs, ref)
		}
		d := &modelDocument{text: []byte(fields[4] + "\n"), lang: code.Language(fields[3]), symbols: modelSymbols([]byte(fields[4]))}
		m.documents = append(m.documents, d)
		m.places = append(m.places, modelPlace{int(repo), fields[2], ref, d})
	}
	m.build(t, 2)
}
