package navigate_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/navigate"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// recorder is a Searcher that records its requests and returns a configured answer.
type recorder struct {
	request search.Request
	result  search.Result
	err     error
}

func (s *recorder) Search(_ context.Context, _ corpus.View, r search.Request) (*search.Result, error) {
	s.request = r
	return &s.result, s.err
}

// TestQualifiedNames checks the further searches for a qualified name that is not the name
// of a symbol.
func TestQualifiedNames(t *testing.T) {
	for name, want := range map[string][]string{
		"Engine":       {`case:yes sym:\bEngine\b`},
		"Engine.Serve": {`case:yes sym:\bEngine\.Serve\b`, `case:yes (parent:"Engine" sym:^Serve$)`, `(file:(^|/)Engine[/.] or repo:(^|/)Engine(/v[0-9]+)?$) (case:yes sym:^Serve$)`},
		"this.Serve":   {`case:yes sym:\bthis\.Serve\b`},
	} {
		var s recorder
		var asked []string
		n := navigate.New(searcherFunc(func(ctx context.Context, v corpus.View, r search.Request) (*search.Result, error) {
			asked = append(asked, r.Query.Root.String())
			return s.Search(ctx, v, r)
		}), nil)
		if _, err := n.Definitions(t.Context(), nil, navigate.Request{Symbol: name}); err != nil {
			t.Fatal(err)
		}
		if strings.Join(asked, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: asked\n%s\nnot\n%s", name, strings.Join(asked, "\n"), strings.Join(want, "\n"))
		}
	}
}

type searcherFunc func(context.Context, corpus.View, search.Request) (*search.Result, error)

func (f searcherFunc) Search(ctx context.Context, v corpus.View, r search.Request) (*search.Result, error) {
	return f(ctx, v, r)
}

func TestQueries(t *testing.T) {
	for _, tc := range []struct {
		request                 navigate.Request
		definitions, references string
	}{
		{navigate.Request{Symbol: "Foo"}, `case:yes sym:\bFoo\b`, `case:yes regex:\bFoo\b`},
		{navigate.Request{Symbol: "operator=="}, `case:yes sym:\boperator==`, `case:yes regex:\boperator==`},
		{navigate.Request{Symbol: "a.*b"}, `case:yes sym:\ba\.\*b\b`, `case:yes regex:\ba\.\*b\b`},
		{navigate.Request{Symbol: "~Foo", Repository: "h/o/n"}, `case:yes sym:~Foo\b reposet:h/o/n`, `case:yes regex:~Foo\b reposet:h/o/n`},
		{navigate.Request{Symbol: "é", Language: "c"}, `case:yes sym:é (lang:C or lang:C++)`, `case:yes regex:é (lang:C or lang:C++)`},
		{navigate.Request{Symbol: "x", Language: "tsx"}, `case:yes sym:\bx\b (lang:TypeScript or lang:JavaScript or lang:JSX or lang:TSX)`, ``},
		{navigate.Request{Symbol: "x", Language: "Go", Revision: "v1"}, `case:yes sym:\bx\b lang:Go rev:v1`, ``},
		{navigate.Request{Symbol: "x", Revision: "HEAD"}, `case:yes sym:\bx\b`, ``},
	} {
		var s recorder
		n := navigate.New(&s, analyze.Outline{Timeout: -1})
		if _, err := n.Definitions(t.Context(), nil, tc.request); err != nil {
			t.Fatal(err)
		}
		if got := s.request.Query.Root.String(); got != tc.definitions {
			t.Errorf("%+v: definitions\n got %s\nwant %s", tc.request, got, tc.definitions)
		}
		if s.request.Matches != navigate.MaxMatches || s.request.ContextLines != 0 {
			t.Errorf("%+v: %+v", tc.request, s.request)
		}
		if _, err := n.References(t.Context(), nil, tc.request); err != nil {
			t.Fatal(err)
		}
		if got := s.request.Query.Root.String(); tc.references != "" && got != tc.references {
			t.Errorf("%+v: references\n got %s\nwant %s", tc.request, got, tc.references)
		}
	}
}

// TestNotices checks that an answer without matches names the conditions that select
// nothing: the relatives of a language are one condition.
func TestNotices(t *testing.T) {
	notice := func(filter string) syntax.Notice {
		return syntax.Notice{Code: syntax.FilterSelectsNothing, Filter: filter, Message: filter + " selects nothing."}
	}
	for _, tc := range []struct {
		found   []syntax.Notice
		request navigate.Request
		want    string
	}{
		{nil, navigate.Request{}, ""},
		{[]syntax.Notice{{Code: syntax.TermFindsNothing, Message: "Foo has no match."}}, navigate.Request{}, ""},
		{[]syntax.Notice{notice(`sym:\bFoo\b`), notice("rev:mian")}, navigate.Request{Revision: "mian"}, "rev:mian"},
		{[]syntax.Notice{notice("lang:C++")}, navigate.Request{Language: "c"}, ""},
		{[]syntax.Notice{notice("lang:C"), notice("lang:C++")}, navigate.Request{Language: "c++"}, "lang:C++"},
		{[]syntax.Notice{notice("reposet:a/b"), notice("lang:pyhton")}, navigate.Request{Language: "pyhton"}, "reposet:a/b lang:pyhton"},
		{[]syntax.Notice{{Code: syntax.DifferentMeaning, Filter: "lang:golang"}}, navigate.Request{Language: "golang"}, ""},
	} {
		tc.request.Symbol = "Foo"
		s := recorder{result: search.Result{Notices: tc.found}}
		r, err := navigate.New(&s, analyze.Outline{Timeout: -1}).Definitions(t.Context(), nil, tc.request)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range r.Notices {
			got = append(got, n.Filter)
		}
		if have := strings.Join(got, " "); have != tc.want {
			t.Errorf("%+v: %q, want %q", tc.request, have, tc.want)
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, r := range []navigate.Request{
		{}, {Symbol: strings.Repeat("x", code.MaxSymbolBytes+1)}, {Symbol: "a\nb"}, {Symbol: "\xff"},
		{Symbol: "x", Language: strings.Repeat("x", 65)},
		{Symbol: "x", Revision: strings.Repeat("x", code.MaxRefBytes+1)},
		{Symbol: "x", Repository: strings.Repeat("x", code.MaxNameBytes+1)},
	} {
		var s recorder
		if _, err := navigate.New(&s, analyze.Outline{Timeout: -1}).Definitions(t.Context(), nil, r); !errors.Is(err, navigate.ErrInvalid) {
			t.Errorf("%+v: %v, want %v", r, err, navigate.ErrInvalid)
		}
	}
	broken := errors.New("disk")
	s := recorder{err: broken}
	if _, err := navigate.New(&s, analyze.Outline{Timeout: -1}).Definitions(t.Context(), nil, navigate.Request{Symbol: "x"}); !errors.Is(err, broken) {
		t.Errorf("the search's error is lost: %v", err)
	}
}

// chunkOf returns the chunk of all matches of pattern in content.
func chunkOf(content, pattern string, at int) search.Chunk {
	c := search.Chunk{Content: []byte(content), Start: search.Location{ByteOffset: at, LineNumber: 1, Column: 1}}
	for _, m := range regexp.MustCompile(pattern).FindAllStringIndex(content, -1) {
		c.Ranges = append(c.Ranges, search.Range{Start: search.Location{ByteOffset: at + m[0]}, End: search.Location{ByteOffset: at + m[1]}})
	}
	return c
}

func TestMatches(t *testing.T) {
	for _, tc := range []struct {
		content, name, pattern string
		want                   []string
	}{
		{"a foo b\nfoo()\n", "foo", "foo", []string{"a foo b\n", "foo()\n"}},
		{"last foo", "foo", "foo", []string{"last foo"}},
		{"foo foo\r\n", "foo", "foo", []string{"foo foo\r\n", "foo foo\r\n"}},
		{"fooé éfoo foo_ foo1 1foo\n", "foo", "foo", nil},
		{"(foo) .foo, «foo»\n", "foo", "foo", []string{"(foo) .foo, «foo»\n", "(foo) .foo, «foo»\n", "(foo) .foo, «foo»\n"}},
		{"étéx été x\n", "été", "été", []string{"étéx été x\n"}},
		{"x==y a == b\n", "==", "==", []string{"x==y a == b\n", "x==y a == b\n"}},
		// The range of a definition is the whole symbol.
		{"Pot::foo x\nfooé foo2 foofoo\n", "foo", `[a-zA-Z:é2]+`, []string{"Pot::foo x\n"}},
		{"fooé::foo\n", "foo", `.+`, []string{"fooé::foo\n"}},
	} {
		s := recorder{result: search.Result{Exhaustive: true, Files: []search.FileMatch{
			{Path: "p", Chunks: []search.Chunk{chunkOf(tc.content, tc.pattern, 100)}},
			{Path: "name only"},
		}}}
		r, err := navigate.New(&s, analyze.Outline{Timeout: -1}).References(t.Context(), nil, navigate.Request{Symbol: tc.name})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range r.Files {
			for _, m := range f.Matches {
				got = append(got, string(m.Line))
			}
		}
		if strings.Join(got, "|") != strings.Join(tc.want, "|") || r.Matches != len(tc.want) || !r.Exhaustive {
			t.Errorf("%q: %q, want %q", tc.content, got, tc.want)
		}
	}
}
