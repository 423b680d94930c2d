package assist

import (
	"context"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/syntax"
)

// TestAdviceWithoutTime checks that another reading of a query is suggested although there
// was no time to find out what it matches, and not if it matches nothing.
func TestAdviceWithoutTime(t *testing.T) {
	m := &searchtest.Model{}
	m.AddFiles(t, "a/db refs/heads/main clean.go Go func cleanFilePath()")
	s := newSearcher(search.Options{})
	over, end := context.WithCancel(t.Context())
	end()
	for _, c := range []struct {
		ctx         context.Context
		query, want string
	}{
		{t.Context(), "clean*Path", "1 file matches with a star"},
		{t.Context(), "clean*Nothing", ""},
		{over, "clean*Path", "There was no time to count what matches with a star"},
		{over, "clean.*Path", "There was no time to count what matches as a regular expression: regex:clean.*Path"},
		{over, "cleanFile", ""},
	} {
		parsed, err := syntax.Parse(c.query, syntax.Options{})
		if err != nil {
			t.Fatal(err)
		}
		a := s.newAnswerer(m)
		f := &adviceFinder{answerer: a, request: search.Request{Query: parsed}}
		if found := f.adviseExpressions(c.ctx); found != (c.want != "") || found && !strings.Contains(f.notices[0].Message, c.want) {
			t.Errorf("%s: %v, %v, not %q", c.query, found, f.notices, c.want)
		}
	}
}

// TestReadingsKeepContexts checks that other readings of a query search in the same contexts,
// which stand for the filters of a saved search.
func TestReadingsKeepContexts(t *testing.T) {
	m := &searchtest.Model{}
	m.AddFiles(t, "a/db refs/heads/main clean.go Go func cleanFilePath()\nb/db refs/heads/main clean.go Go func cleanFilePath()")
	s := newSearcher(search.Options{})
	for _, text := range []string{"context:mine file:clean.go:1", `context:mine /clean\w+Path/`, "context:mine func NEAR/3 cleanFilePath"} {
		q := searchtest.Parse(t, text)
		syntax.Contexts(q.Root)[0].Means = searchtest.Parse(t, "repo:a/").Root
		r, err := s.Search(t.Context(), m, search.Request{Query: q, Matches: 10})
		if err != nil || len(r.Files) != 1 || r.Files[0].Repo.Name != "a/db" {
			t.Errorf("%s: %+v, %v, want the file of a/db", text, r, err)
		}
	}
}
