package assist

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/syntax"
)

// TestDocumentedQualifiedNames checks docs/query-language.md: each line of a block that
// begins with ```qualified shows a definition first, and each line of ```qualified nothing
// has only the matches of its text.
func TestDocumentedQualifiedNames(t *testing.T) {
	page, err := os.ReadFile("../../docs/query-language.md")
	if err != nil {
		t.Fatal(err)
	}
	m := &searchtest.Model{}
	m.AddSources(t, strings.Join([]string{
		`host/web src/use.go - Go Server.Serve, Server.Serve() and Server#Serve, crate::http::Server::Serve; (*Server).Serve; net/http.Server.Serve()\n`,
		`host/web src/other.go - Go func Serve() {}\nfunc (Proxy) Serve() {} // of proxies\n`,
		`host/web src/server.go - Go struct Server {}\nvar Server.Serve is text\nfunc (Server) Serve() {}\nClient.Serve, this.Serve\n`,
		`host/db sstable/reader.go - Go func NewReader() {}\n`,
		`host/db other.go - Go func NewReader() {}\n// sstable.NewReader\n`,
	}, "\n"))
	s, examples := newSearcher(search.Options{}), 0
	for i, block := range strings.Split(string(page), "```") {
		info, text, _ := strings.Cut(block, "\n")
		nothing := info == "qualified nothing"
		if i%2 == 0 || info != "qualified" && !nothing {
			continue
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			examples++
			r, err := s.Search(t.Context(), m, search.Request{Query: searchtest.Parse(t, line), Matches: 100})
			if err != nil {
				t.Fatal(err)
			}
			found := slices.ContainsFunc(r.Notices, func(n syntax.Notice) bool { return n.Code == syntax.AmbiguousQuery })
			if found == nothing {
				t.Errorf("%s: notices %v", line, r.Notices)
			}
			if nothing {
				continue
			}
			f := &r.Files[0]
			want, number := "src/server.go", 3
			if strings.Contains(line, "NewReader") {
				want, number = "sstable/reader.go", 1
			}
			if f.Path != want || f.BestLines[0] != number {
				t.Errorf("%s: %s, lines %v come first, not %s:%d", line, f.Path, f.BestLines, want, number)
			}
			literal := searchtest.Parse(t, r.Notices[0].Suggestions[0])
			if !syntax.Equal(literal.Root, searchtest.Parse(t, line).Root) || readQualified(&search.Request{Query: literal}) != nil && !strings.HasPrefix(line, "sym:") {
				t.Errorf("%s: the literal query is %s", line, literal.Text)
			}
		}
	}
	if examples < 12 {
		t.Errorf("only %d examples found", examples)
	}
}

// TestQualifiedNameAmongMany checks that a small limit does not hide the definition of a
// qualified name that many files use and whose name many files define.
func TestQualifiedNameAmongMany(t *testing.T) {
	m := &searchtest.Model{}
	for range 3 {
		var lines []string
		for range 400 {
			lines = append(lines, `host/a src/many.go - Go func Serve() {}\nServer.Serve, Server.Serve and Server.Serve\n`)
		}
		m.AddSources(t, strings.Join(lines, "\n"))
	}
	m.AddSources(t, `host/a src/z.go - Go func (Server) Serve() {}\n`)
	for _, matches := range []int{1, 10, 1000} {
		r, err := newSearcher(search.Options{}).Search(t.Context(), m, search.Request{Query: searchtest.Parse(t, "Server.Serve"), Matches: matches, Display: 10})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Files) == 0 || r.Files[0].Path != "src/z.go" {
			t.Errorf("%d matches: the first of %d files is not the definition", matches, len(r.Files))
		}
	}
}

// TestMemberOfParentIsFirst checks that the first line of a file is the definition in the
// named parent, not one with the same name in another type, whatever its line says: members,
// constructors, and members of companion objects.
func TestMemberOfParentIsFirst(t *testing.T) {
	for query, want := range map[string]int{
		"Range.parse":           5,
		"Rule.Rule":             3,
		"Range.Companion.parse": 5,
		"Range$Companion.parse": 5,
		"a.b.Outer$Range.parse": 5,
		"Rule.parse":            4,
	} {
		m := &searchtest.Model{}
		m.AddSources(t, `host/a src/range.go - Go func (Other) parse() {} // parse Range.parse of a Rule and a Range\nstruct Rule {}\n`+
			`func (Rule) Rule() {}\nfunc (Rule) parse() {}\nfunc (Range) parse() {}\n`)
		r, err := newSearcher(search.Options{}).Search(t.Context(), m, search.Request{Query: searchtest.Parse(t, query), Matches: 100})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Files) != 1 || r.Files[0].BestLines[0] != want {
			t.Errorf("%s: %v, want line %d first", query, r.Files, want)
		}
	}
}
