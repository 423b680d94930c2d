package assist

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/search/searchtest"
)

// TestExplain says of queries on a small corpus how they are run. Commands:
//
//	segment          seal a segment; each line of input is "repository path language text"
//	search [matches=n]
func TestExplain(t *testing.T) {
	m := &searchtest.Model{}
	datadriven.RunTest(t, "testdata/explain", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "segment":
			m.AddScript(t, d.Input)
			return ""
		case "search":
			matches := 1000
			d.MaybeScanArgs(t, "matches", &matches)
			r, err := newSearcher(search.Options{}).Search(t.Context(), m, search.Request{Query: searchtest.Parse(t, d.Input), Matches: matches, Explain: true, Related: true})
			if err != nil {
				return err.Error()
			}
			return printExplain(r)
		}
		d.Fatalf(t, "unknown command")
		return ""
	})
}

// printExplain formats the explanation without the parts that differ from run to run.
func printExplain(r *search.Result) string {
	var b strings.Builder
	e := r.Explain
	fmt.Fprintf(&b, "query %s\n", e.Query)
	for _, a := range e.Atoms {
		fmt.Fprintf(&b, "atom %s\n", a)
	}
	for i, s := range e.Segments {
		fmt.Fprintf(&b, "segment %d: blocks %d of %d documents, considered %d, matches %d\n", i, s.CandidateBlocks, s.Documents, s.FilesConsidered, s.Matches)
	}
	if e.Stopped != search.StopNone {
		fmt.Fprintf(&b, "stopped %s\n", e.Stopped)
	}
	for _, p := range e.Probes {
		fmt.Fprintf(&b, "probe %s: %d matches\n", p.Query, p.Matches)
	}
	for _, f := range r.Files {
		fmt.Fprintf(&b, "file %s %s: %v\n", f.Repo.Name, f.Path, f.Reasons)
	}
	return b.String()
}
