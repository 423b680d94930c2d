package navigate_test

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/assist"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/navigate"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/code"
)

// source is a file of the corpus on a ref.
type source struct {
	repo     uint32
	ref      code.Ref
	path     string
	language code.Language
	text     string
	symbols  []string
}

var sources = []source{
	{0, "refs/heads/main", "boil.c", "C", "int boil(void);\nint boiler;\nint boil(void) { return boil2(); }\n", []string{"boil", "boiler", "boil"}},
	{0, "refs/heads/main", "boil.hpp", "C++", "class Pot { void boil(); };\n", []string{"Pot", "boil"}},
	{0, "refs/heads/main", "use.go", "Go", "func main() { boil() }\nvar Boil = 1\n", []string{"main", "Boil"}},
	{0, "refs/heads/mainline", "old.c", "C", "void boil(int x);\n", []string{"boil"}},
	{1, "refs/heads/main", "boil.py", "Python", "def boil(): pass\ndef boilé(): pass\n", []string{"boil", "boilé"}},
}

// corpus is a corpus.View of sources in one segment.
type testCorpus struct {
	main, every corpus.Segment
	repos       []*corpus.Repository
	refs        []code.Ref
}

func (c *testCorpus) Segments() []corpus.Segment         { return []corpus.Segment{c.main} }
func (c *testCorpus) Repositories() []*corpus.Repository { return c.repos }
func (c *testCorpus) Release()                           {}

// Revisions returns the places on refs that match, built for each call as a
// store would.
func (c *testCorpus) Revisions(_ context.Context, match func(*corpus.Repository, code.Ref) bool) ([]corpus.Segment, []code.Ref, error) {
	b := segment.NewPlacesBuilder(c.every.Reader.Documents())
	for i, s := range sources {
		if match(c.repos[s.repo], s.ref) {
			b.Add(segment.DocID(i), s.repo, c.refIndex(s.ref), 0, s.path)
		}
	}
	return []corpus.Segment{{Reader: c.every.Reader, Places: b.Build()}}, c.refs, nil
}

func (c *testCorpus) refIndex(ref code.Ref) uint32 {
	for i, r := range c.refs {
		if r == ref {
			return uint32(i)
		}
	}
	panic("unknown ref " + ref)
}

func newCorpus(t *testing.T) *testCorpus {
	t.Helper()
	b := segment.NewBuilder(segment.Options{Seed: []byte("navigate")})
	for _, s := range sources {
		doc := segment.Document{Key: code.DocumentKey{Blob: sha1.Sum([]byte(s.text)), Language: s.language}, Text: []byte(s.text), Symbols: symbolsOf(s)}
		if err := b.Add(doc); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "segment")
	if _, err := b.Finish(path); err != nil {
		t.Fatal(err)
	}
	f, err := segment.OpenFile(path, segment.NewCache(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	main := segment.NewPlacesBuilder(f.Documents())
	for i, s := range sources {
		if s.ref == "refs/heads/main" {
			main.Add(segment.DocID(i), s.repo, segment.NoRef, 0, s.path)
		}
	}
	c := &testCorpus{main: corpus.Segment{Reader: f.Reader, Places: main.Build()}, refs: []code.Ref{"refs/heads/main", "refs/heads/mainline"}}
	c.every = c.main
	for i, name := range []string{"host/kettle", "host/kettle2"} {
		c.repos = append(c.repos, &corpus.Repository{Repository: code.Repository{ID: code.RepositoryID(i + 1), Name: name, DefaultBranch: "main"}})
	}
	return c
}

// newShards returns the corpus as a front sees it.
func (c *testCorpus) newShards(t *testing.T) corpus.View {
	t.Helper()
	shard := search.New(search.Options{MaxDuration: 10 * time.Hour}).NewShardSession(c, []int32{0}, nil)
	v, err := search.NewShards(t.Context(), []search.Shard{shard})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// symbolsOf finds the names in the text, one after the other.
func symbolsOf(s source) []code.Symbol {
	var out []code.Symbol
	at := 0
	for _, name := range s.symbols {
		at += strings.Index(s.text[at:], name)
		out = append(out, code.Symbol{Name: name, Kind: "function", Offset: uint32(at), Line: uint32(1 + strings.Count(s.text[:at], "\n"))})
		at += len(name)
	}
	return out
}

// TestEngine checks the results of the query tree with the real engine.
func TestEngine(t *testing.T) {
	c := newCorpus(t)
	n := navigate.New(search.New(search.Options{MaxDuration: 10 * time.Hour}), analyze.Outline{Timeout: -1})
	for _, tc := range []struct {
		request                 navigate.Request
		definitions, references string
	}{
		{navigate.Request{Symbol: "boil", Repository: "host/kettle"}, "boil.c:1 boil.c:3 boil.hpp:1", "boil.c:1 boil.c:3 boil.hpp:1 use.go:1"},
		{navigate.Request{Symbol: "boil", Repository: "host/kett"}, "", ""},
		{navigate.Request{Symbol: "boil", Language: "c++"}, "boil.c:1 boil.c:3 boil.hpp:1", "boil.c:1 boil.c:3 boil.hpp:1"},
		{navigate.Request{Symbol: "boil", Language: "Python"}, "boil.py:1", "boil.py:1"},
		{navigate.Request{Symbol: "boilé"}, "boil.py:2", "boil.py:2"},
		{navigate.Request{Symbol: "Boil"}, "use.go:2", "use.go:2"},
		{navigate.Request{Symbol: "b.il"}, "", ""},
		{navigate.Request{Symbol: "boil", Revision: "mainline"}, "old.c:1", "old.c:1"},
		{navigate.Request{Symbol: "boil", Revision: "main", Language: "C"}, "boil.c:1 boil.c:3 boil.hpp:1", "boil.c:1 boil.c:3 boil.hpp:1"},
		{navigate.Request{Symbol: "boil", Revision: "refs/heads/mainline"}, "old.c:1", "old.c:1"},
		{navigate.Request{Symbol: "boil", Revision: "line"}, "", ""},
		{navigate.Request{Symbol: "boil", Revision: "*"}, "", ""},
	} {
		for _, v := range []corpus.View{c, c.newShards(t)} {
			definitions, err := n.Definitions(t.Context(), v, tc.request)
			if err != nil {
				t.Fatal(err)
			}
			references, err := n.References(t.Context(), v, tc.request)
			if err != nil {
				t.Fatal(err)
			}
			if got := describePlaces(definitions); got != tc.definitions {
				t.Errorf("%T: %+v: definitions %q, want %q", v, tc.request, got, tc.definitions)
			}
			if got := describePlaces(references); got != tc.references {
				t.Errorf("%T: %+v: references %q, want %q", v, tc.request, got, tc.references)
			}
			v.Release()
		}
	}
}

// TestEngineNotices uses the real engine to find the conditions that select
// nothing.
func TestEngineNotices(t *testing.T) {
	c := newCorpus(t)
	n := navigate.New(assist.New(search.New(search.Options{MaxDuration: 10 * time.Hour}), nil), analyze.Outline{Timeout: -1})
	for _, tc := range []struct {
		request navigate.Request
		want    string
	}{
		{navigate.Request{Symbol: "boil", Repository: "host/ketlte"}, "reposet:host/ketlte selects none of the 2 repositories that you may read. Did you mean host/kettle or host/kettle2?"},
		{navigate.Request{Symbol: "boil", Revision: "line"}, "rev:line selects none of the 3 indexed branches of 2 repositories. Did you mean mainline?"},
		{navigate.Request{Symbol: "boil", Language: "pyhton"}, "lang:pyhton selects none of the 4 languages in 2 repositories. Did you mean Python?"},
		{navigate.Request{Symbol: "boil", Language: "Python", Repository: "host/kettle"}, "lang:Python selects none of the 3 languages in 1 repository. There are C, C++, Go."},
		{navigate.Request{Symbol: "nosuch", Language: "c"}, ""},
		{navigate.Request{Symbol: "nosuch"}, ""},
		{navigate.Request{Symbol: "boill"}, "boill has no match. Did you mean boil or Boil?"},
		{navigate.Request{Symbol: "BOIL"}, "BOIL has no match. Did you mean boil or Boil?"},
		{navigate.Request{Symbol: "biolé"}, "biolé has no match. Did you mean boilé?"},
		{navigate.Request{Symbol: "boiller", Repository: "host/kettle2"}, ""}, // boiler is in the other repository
		{navigate.Request{Symbol: "boiller", Language: "Python"}, ""},
		{navigate.Request{Symbol: "boil", Language: "typescript"}, "lang:TypeScript selects none of the 4 languages in 2 repositories. There are C, C++, Go, Python."},
	} {
		for _, find := range []func(context.Context, corpus.View, navigate.Request) (*navigate.Result, error){n.Definitions, n.References} {
			for _, v := range []corpus.View{c, c.newShards(t)} {
				r, err := find(t.Context(), v, tc.request)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, notice := range r.Notices {
					got = append(got, notice.Message)
				}
				if strings.Join(got, "\n") != tc.want {
					t.Errorf("%T: %+v: %q, want %q", v, tc.request, got, tc.want)
				}
				v.Release()
			}
		}
	}
}

// lostShard is a session with a shard that is lost.
type lostShard struct{ search.Shard }

func (lostShard) Partitions() []int32 { return []int32{1} }
func (lostShard) Close()              {}
func (lostShard) Call(context.Context, *search.ShardCall) (*search.ShardReply, error) {
	return nil, search.ErrShardLost
}

// TestPositionAtLostShard checks that a position which a lost shard may hold is unavailable, and
// that those of other shards are not.
func TestPositionAtLostShard(t *testing.T) {
	c := newCorpus(t)
	s := search.New(search.Options{MaxDuration: 10 * time.Hour})
	v, err := search.NewShards(t.Context(), []search.Shard{s.NewShardSession(c, []int32{0}, nil), lostShard{}})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Release()
	n := navigate.New(s, analyze.Outline{Timeout: -1})
	at := func(repository string) navigate.Request {
		return navigate.Request{Symbol: "boil", Position: &navigate.Position{Repository: repository, Path: "boil.c", Line: 1}}
	}
	if r, err := n.Definitions(t.Context(), v, at("host/kettle")); err != nil || describePlaces(r) == "" || r.Exhaustive {
		t.Errorf("a position at a shard: %+v, %v, want definitions of a part", r, err)
	}
	if r, err := n.Definitions(t.Context(), v, at("host/elsewhere")); !errors.Is(err, search.ErrUnavailable) {
		t.Errorf("a position that is nowhere: %+v, %v, want ErrUnavailable", r, err)
	}
}

// describePlaces prints path:line of the matches, sorted by path and line.
func describePlaces(r *navigate.Result) string {
	var out []string
	for _, f := range r.Files {
		for _, m := range f.Matches {
			out = append(out, fmt.Sprintf("%s:%d", f.Path, m.Range.Start.LineNumber))
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}
