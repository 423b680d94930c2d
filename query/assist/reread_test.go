package assist

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestReadings runs testdata/readings: how queries that are something pasted are read. Commands:
//
//	repository, segment      as in testdata/ranking
//	read [each] [hide=name]  the lines that are shown for a query, each on a line of the input with each, and the
//	                         notice; hide leaves out the repositories with name in their name
func TestReadings(t *testing.T) {
	m := &searchtest.Model{}
	s := newSearcher(search.Options{})
	screen := corpus.NewScreen(corpus.ScreenOptions{})
	datadriven.RunTest(t, "testdata/readings", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "repository":
			m.DescribeRepository(t, d)
			return ""
		case "segment":
			m.AddSources(t, d.Input)
			return ""
		case "read":
			view, hide := corpus.View(m), ""
			if d.MaybeScanArgs(t, "hide", &hide); hide != "" {
				view = screen.Hide(m, hide, func(r *code.Repository) bool { return !strings.Contains(r.Name, hide) })
			}
			texts := []string{d.Input}
			if d.HasArg("each") {
				texts = strings.Split(d.Input, "\n")
			}
			var b strings.Builder
			for _, text := range texts {
				if len(texts) > 1 {
					b.WriteString(text + "\n")
				}
				b.WriteString(describeReading(t, s, view, text))
			}
			return b.String()
		}
		d.Fatalf(t, "unknown command")
		return ""
	})
}

func describeReading(t *testing.T, s *Searcher, view corpus.View, text string) string {
	parsed, err := syntax.Parse(text, syntax.Options{})
	if err != nil {
		return "    " + err.Error() + "\n"
	}
	r, err := s.Search(t.Context(), view, search.Request{Query: parsed, Matches: 100})
	if err != nil {
		return "    " + err.Error() + "\n"
	}
	files := 0
	streamed, err := s.Stream(t.Context(), view, search.Request{Query: parsed, Matches: 100}, func(f []search.FileMatch, _ search.Stats) error {
		files += len(f)
		return nil
	})
	if err != nil || fmt.Sprint(streamed.Notices) != fmt.Sprint(r.Notices) || files != len(r.Files) || streamed.Stats.Matches != r.Stats.Matches {
		t.Errorf("%s: %d files, %v streamed, %d, %v at once: %v", text, files, streamed.Notices, len(r.Files), r.Notices, err)
	}
	out := fmt.Sprintf("    %d matches, exhaustive %v\n", r.Stats.Matches, r.Exhaustive)
	for _, f := range r.Files {
		for _, c := range f.Chunks {
			out += fmt.Sprintf("    %s %s:%d: %s\n", f.Repo.Name, f.Path, c.Ranges[0].Start.LineNumber, strings.ReplaceAll(strings.TrimSuffix(string(c.Content), "\n"), "\n", "\n        "))
		}
		if len(f.Chunks) == 0 {
			out += fmt.Sprintf("    %s %s\n", f.Repo.Name, f.Path)
		}
	}
	for _, n := range r.Notices {
		if n.Code == syntax.PastedText {
			out += fmt.Sprintf("    %s %d-%d: %s %q\n", n.Code, n.At.Start, n.At.End, n.Message, n.Suggestions)
			checkLiteral(t, s, view, parsed, n.Suggestions[0])
		}
	}
	return out
}

// checkLiteral checks that the text for the literal reading counts the matches of the
// query itself.
func checkLiteral(t *testing.T, s *Searcher, view corpus.View, q *syntax.Parsed, text string) {
	t.Helper()
	literal, err := syntax.Parse(text, q.Options)
	if err != nil || !syntax.Equal(literal.Root, q.Root) {
		t.Fatalf("%s is not the literal reading of %s: %v", text, q.Text, err)
	}
	r, err := s.Search(t.Context(), view, search.Request{Query: literal, Matches: 1000})
	if err != nil {
		t.Fatal(err)
	}
	direct, err := s.engine.Search(t.Context(), view, search.Request{Query: q, Matches: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Notices) != 0 && r.Notices[0].Code == syntax.PastedText || r.Stats.Matches != direct.Stats.Matches || !r.Exhaustive {
		t.Errorf("%s: %d matches, %v; the query itself has %d", text, r.Stats.Matches, r.Notices, direct.Stats.Matches)
	}
}

// TestReadingsKeepTheNoticesOfFilters checks that notices on differences from the
// established server also appear for a query that is read as pasted text.
func TestReadingsKeepTheNoticesOfFilters(t *testing.T) {
	m := &searchtest.Model{}
	m.AddSources(t, `host/Pebble db.go - Go func (d *DB) makeRoomForWrite(b *Batch) error {\n}\n`)
	r, err := newSearcher(search.Options{}).Search(t.Context(), m, search.Request{Query: searchtest.Parse(t, "repo:pebble func (d*DB)makeRoomForWrite(b *Batch) error {"), Matches: 10})
	if err != nil {
		t.Fatal(err)
	}
	if r.Stats.Matches != 1 || len(r.Notices) != 2 || r.Notices[0].Code != syntax.PastedText || r.Notices[1].Code != syntax.DifferentMeaning {
		t.Errorf("%d matches, notices %v", r.Stats.Matches, r.Notices)
	}
}

// failingView is a view whose looks at its revisions fail, from one on up to another.
type failingView struct {
	*searchtest.Model
	looks, from, to int
}

var errRevisions = errors.New("the revisions cannot be read")

func (v *failingView) Revisions(ctx context.Context, match func(*corpus.Repository, code.Ref) bool) ([]corpus.Segment, []code.Ref, error) {
	if v.looks++; v.looks > v.from && v.looks <= v.to {
		return nil, nil, errRevisions
	}
	return v.Model.Revisions(ctx, match)
}

// TestFailedLookupIsNoAnswer lets some of the lookups of pasted text fail. The search must
// fail or have its whole answer. It must not say that nothing was found.
func TestFailedLookupIsNoAnswer(t *testing.T) {
	m := &searchtest.Model{Refs: []code.Ref{"refs/heads/main"}}
	m.AddSources(t, `host/etcd cluster.go - Go package membership\n\treturn fmt.Errorf("member %s has already been bootstrapped", id)\n
host/etcd backend.go - Go package storage\n\treturn fmt.Errorf("cannot load snapshot %q after %v: %w", name, d, err)\n`)
	for _, s := range m.OnDefault {
		places := segment.NewPlacesBuilder(s.Reader.Documents())
		for p := range s.Places.Len() {
			places.Add(s.Places.Doc[p], s.Places.Repo[p], 0, s.Places.Flags[p], string(s.Places.Path(p)))
		}
		m.OnRefs = append(m.OnRefs, corpus.Segment{Reader: s.Reader, Places: places.Build()})
	}
	for _, text := range []string{
		"rev:main member 8e9e05c52164694d has already been bootstrapped",
		`rev:main cannot load snapshot "0000-1.snap" after 1.52s: open /var/lib/x: permission denied`,
		`rev:main start server: cannot load snapshot "x" after 2m3s: member 7 has already been bootstrapped`,
		`rev:main return fmt.Errorf("cannot load snapshot %q after %v: %w",name,d,err)`,
	} {
		s, request := newSearcher(search.Options{}), search.Request{Query: searchtest.Parse(t, text), Matches: 100}
		want, err := s.Search(t.Context(), m, request)
		if err != nil || want.Stats.Matches == 0 {
			t.Fatalf("%s: %+v, %v", text, want, err)
		}
		counted := &failingView{Model: m}
		if _, err := s.Search(t.Context(), counted, request); err != nil {
			t.Fatal(err)
		}
		failed := 0
		for from := range counted.looks {
			for to := from + 1; to <= counted.looks; to++ {
				r, err := s.Search(t.Context(), &failingView{m, 0, from, to}, request)
				switch {
				case errors.Is(err, errRevisions):
					failed++
				case err != nil:
					t.Errorf("%s: lookups %d to %d fail: %v", text, from+1, to, err)
				case r.Stats.Matches != want.Stats.Matches:
					t.Errorf("%s: %d matches if lookups %d to %d fail, want %d or an error", text, r.Stats.Matches, from+1, to, want.Stats.Matches)
				}
			}
		}
		if failed == 0 {
			t.Errorf("%s: no lookup failed", text)
		}
	}
}
