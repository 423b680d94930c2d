package assist

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/syntax"
)

// TestSelection shows the shape of answers. Commands:
//
//	segment                        as in TestExplain
//	search [matches=n] [regexp]    what is found: matches, and where they are shown
func TestSelection(t *testing.T) {
	m := &searchtest.Model{}
	datadriven.RunTest(t, "testdata/selection", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "segment" {
			m.AddScript(t, d.Input)
			return ""
		}
		matches := 1000
		d.MaybeScanArgs(t, "matches", &matches)
		q, err := syntax.Parse(d.Input, syntax.Options{Regexp: d.HasArg("regexp")})
		if err != nil {
			return err.Error()
		}
		r, err := newSearcher(search.Options{}).Search(t.Context(), m, search.Request{Query: q, Matches: matches})
		if err != nil {
			return err.Error()
		}
		return printShape(r)
	})
}

func printShape(r *search.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d matches, %d displayed, %d files, exhaustive %t\n", r.Stats.Matches, r.Stats.Displayed, r.Stats.Files, r.Exhaustive)
	for _, repo := range r.Repositories {
		fmt.Fprintf(&b, "repository %s\n", repo.Name)
	}
	for _, f := range r.Files {
		fmt.Fprintf(&b, "%s %s", f.Repo.Name, f.Path)
		for _, at := range f.PathRanges {
			fmt.Fprintf(&b, " path %q", f.Path[at.Start.ByteOffset:at.End.ByteOffset])
		}
		for _, c := range f.Chunks {
			for i, at := range c.Ranges {
				fmt.Fprintf(&b, " %q", c.Content[at.Start.ByteOffset-c.Start.ByteOffset:at.End.ByteOffset-c.Start.ByteOffset])
				if len(c.Symbols) > 0 && c.Symbols[i] != nil {
					b.WriteString(" (symbol)")
				}
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
