package search

import (
	"fmt"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/search/searchtest"
)

// TestDefinitionsFillAnAnswer searches for a name. If the files that define it fill the answer, and
// no other file can be better, a search with a small limit reads no others.
func TestDefinitionsFillAnAnswer(t *testing.T) {
	const uses = 40
	for _, c := range []struct {
		query, definition string
		considered        int
	}{
		{"Widget", `struct Widget {};`, 2},
		{"case:yes Widget", `struct Widget {};`, 2},
		{"Widget -nowhere", `struct Widget {};`, 2},
		{"widget", `struct Widget {};`, 2 + uses}, // a file with the exact case may be better
		{"Widget", `struct Other {};`, 2 + uses},
	} {
		m := &searchtest.Model{}
		var sources []string
		for i := range uses {
			sources = append(sources, fmt.Sprintf("host/a use%02d.c - C use Widget %d%s", i, i, strings.Repeat(`\nother`, 1000)))
		}
		for i := range 2 {
			sources = append(sources, fmt.Sprintf("host/a def%d.c - C %s%s", i, c.definition, strings.Repeat(`\n`+"use(Widget);", 12)))
		}
		m.AddSources(t, strings.Join(sources, "\n"))
		searcher := newSearcher(Options{})
		few, err := searcher.Search(t.Context(), m, Request{Query: searchtest.Parse(t, c.query), Matches: 10})
		if err != nil {
			t.Fatal(err)
		}
		all, err := searcher.Search(t.Context(), m, Request{Query: searchtest.Parse(t, c.query), Matches: MinLooked})
		if err != nil {
			t.Fatal(err)
		}
		if few.Stats.FilesConsidered != c.considered || few.Stats.Matches != 11 || few.Exhaustive {
			t.Errorf("%s with %s: considered %d files, want %d; %d matches, exhaustive %v", c.query, c.definition, few.Stats.FilesConsidered, c.considered, few.Stats.Matches, few.Exhaustive)
		}
		for i := range few.Files {
			if few.Files[i].Path != all.Files[i].Path {
				t.Errorf("%s with %s: file %d is %s, of more matches %s", c.query, c.definition, i, few.Files[i].Path, all.Files[i].Path)
			}
		}
	}
}

// TestDefinitionsOfAnotherWorth searches for names with a small limit, which the first file fills. Each
// has a better file that does not define the name: the first match of sym: is the whole name of
// another symbol, or the first file has the name as that of a type in another letter case only.
func TestDefinitionsOfAnotherWorth(t *testing.T) {
	far := strings.Repeat(`\nother words on a line of the file`, 6000)
	for query, sources := range map[string]string{
		"sym:widget": "host/a widget.c - C struct MyWidget {};\\nstruct WidgetPart {};\n" +
			"host/a lib/a/b/c/d/e/f/g.c - C struct widget {};\\nstruct widget {};\\nstruct widget {};" + far,
		"widget": "host/a widget.c - C struct my_widget {};" + strings.Repeat(`\nwidget`, 8) + "\n" +
			"host/old docs/a/b/c/d/e/f/g.c - C struct Widget {};\\nvar widget\\nwidget" + far,
	} {
		m := &searchtest.Model{}
		m.AddSources(t, sources)
		for _, r := range m.Repos {
			r.Archived, r.Fork = r.Name == "host/old", r.Name == "host/old"
		}
		for i := range 30 {
			m.AddSources(t, fmt.Sprintf("host/a other%02d.c - C a widget", i))
		}
		searcher := newSearcher(Options{})
		for _, matches := range []int{2, MinLooked} {
			r, err := searcher.Search(t.Context(), m, Request{Query: searchtest.Parse(t, query), Matches: matches})
			if err != nil {
				t.Fatal(err)
			}
			if r.Files[0].Path != "widget.c" {
				t.Errorf("%s with %d matches: the first of %d files is %s of %v points, considered %d", query, matches, len(r.Files), r.Files[0].Path, r.Files[0].Score, r.Stats.FilesConsidered)
			}
		}
	}
}
