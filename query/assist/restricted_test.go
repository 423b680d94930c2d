package assist

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestHiddenRepositoriesDoNotExist compares the answers to a caller who cannot see some
// repositories with a plain scan of the visible ones, and with the answers to an equally
// restricted caller of an index that contains only the visible ones.
func TestHiddenRepositoriesDoNotExist(t *testing.T) {
	s, screen := newSearcher(search.Options{}), corpus.NewScreen(corpus.ScreenOptions{})
	for round := range *roundsFlag {
		seed := searchtest.FirstSeed(t) + uint64(round)
		rng := rand.New(rand.NewPCG(seed, 79))
		h := searchtest.NewHiding(t, rng, searchtest.NewModel(t, rng))
		hidden := screen.Hide(h.Whole, seed*2, h.Visible)
		rest := screen.Hide(h.Rest, seed*2+1, searchtest.AllowAll)
		judge := &searchtest.Oracle{T: t, Model: h.Rest, Compiled: map[string]*regexp.Regexp{}}
		ask := searchtest.Asker{Rand: rng, Model: h.Whole} // also uses words of hidden text
		for range 25 {
			judge.Query = ask.RandomQuery()
			parsed, err := syntax.Parse(judge.Query.String(), syntax.Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := judge.WholeAnswer()
			t.Run(fmt.Sprintf("seed=%d/%s", seed, parsed), func(t *testing.T) {
				c := checker{t, s, hidden, parsed, want, "hidden"}
				c.checkAnswer(rng)
				whole := search.Request{Matches: 1 << 20, Whole: true, Explain: true}
				got := c.search(whole)
				c.m = rest
				if a, b := visibleFacts(t, got), visibleFacts(t, c.search(whole)); a != b {
					t.Fatalf("somebody can tell what is hidden:\n%s\nwithout it:\n%s", a, b)
				}
			})
		}
	}
}

// TestHiddenRepositoriesWithLongLists does the same for a few queries on texts so long
// that the files are ordered before they are read.
func TestHiddenRepositoriesWithLongLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(searchtest.FirstSeed(t), 81))
	s, screen := newSearcher(search.Options{}), corpus.NewScreen(corpus.ScreenOptions{})
	for round := range 3 {
		m := searchtest.NewModel(t, rng)
		for range 6 {
			m.AddDocument(rng, searchtest.FillerText(rng, 100<<10))
		}
		m.BuildIndex(t, 2)
		h := searchtest.NewHiding(t, rng, m)
		view := screen.Hide(m, round, h.Visible)
		judge := &searchtest.Oracle{T: t, Model: h.Rest, Compiled: map[string]*regexp.Regexp{}}
		for _, text := range []string{"kmalloc", "kmalloc or kfree", "kmalloc kfree struct", "naïve -struct", "sym:kmalloc naïve rev:*", "kmalloc visibility:private", "regex:k.*free select:repo"} {
			judge.Query = searchtest.Parse(t, text)
			c := checker{t, s, view, judge.Query, judge.WholeAnswer(), text}
			c.checkAnswer(rng)
		}
	}
}

// visibleFacts returns everything in a result except times.
func visibleFacts(t *testing.T, r *search.Result) string {
	t.Helper()
	stats := reflect.ValueOf(&r.Stats).Elem()
	for i := range stats.NumField() {
		if f := stats.Field(i); f.Type().String() == "time.Duration" {
			f.SetZero()
		}
	}
	if r.Explain != nil {
		r.Explain.Stages = search.Stages{}
	}
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestHiddenTextIsNotCounted searches for a word that is only in a hidden repository,
// next to visible text in one segment, and for a word that is in no repository.
func TestHiddenTextIsNotCounted(t *testing.T) {
	m := &searchtest.Model{Refs: []code.Ref{"refs/heads/main"}}
	for i := range 2 {
		m.Repos = append(m.Repos, &corpus.Repository{Repository: code.Repository{ID: code.RepositoryID(i + 1), Name: fmt.Sprint("host/", i), DefaultBranch: "main"}})
	}
	for i := range 40 {
		d := &searchtest.ModelDocument{Text: []byte(fmt.Sprintf("common text %d\n%s\n", i, strings.Repeat("filler ", 900))), Lang: "C"}
		path := "file"
		if i%2 == 1 {
			path, d.Text = "hiddenword", append(d.Text, "hiddenword common\n"...)
			d.Symbols = []code.Symbol{{Name: "hiddenword", Kind: "function", Offset: uint32(len(d.Text) - len("hiddenword common\n"))}}
		}
		m.Documents = append(m.Documents, d)
		m.Places = append(m.Places, searchtest.ModelPlace{Repo: i % 2, Path: fmt.Sprintf("%s%d.c", path, i), Ref: "refs/heads/main", Doc: d})
	}
	m.BuildIndex(t, 1)
	s := newSearcher(search.Options{})
	view := corpus.NewScreen(corpus.ScreenOptions{}).Hide(m, "public", func(r *code.Repository) bool { return r.ID == 1 })
	for _, query := range []string{"%s", "%s common", "common %s", "file:%s9", "-%s common", "%s or common", "regex:%s\\s", "sym:%s", "type:repo %s", "rev:* %s common", "how is %s common", "repo:has.content(%s) common", "-repo:has.content(%s) common",
		"repo:has.path(%s) common", "-repo:has.path(%s) type:repo", "file:has.content(%s) common", "file:has.content(common) %s", "repo:has.file(path:%s content:common)", "%s or common or filler", "common.%s"} {
		for _, explain := range []bool{false, true} {
			var facts [2]string
			for i, word := range []string{"hiddenword", "nobodyword"} {
				r, err := s.Search(t.Context(), view, search.Request{Query: searchtest.Parse(t, fmt.Sprintf(query, word)), Matches: 10, Explain: explain})
				if err != nil {
					t.Fatal(err)
				}
				facts[i] = strings.ReplaceAll(visibleFacts(t, r), word, "WORD")
			}
			if facts[0] != facts[1] {
				t.Errorf("%s reveals a hidden word:\n%s\nwithout:\n%s", query, facts[0], facts[1])
			}
		}
	}
}

// TestContextOfHiddenRepositories checks that such a context looks like an unknown one.
func TestContextOfHiddenRepositories(t *testing.T) {
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(1, 1)))
	s := newSearcher(search.Options{Contexts: map[string]corpus.Context{"secret": func(name string) bool { return name == m.Repos[0].Name }}})
	ask := func(v corpus.View, name string) error {
		_, err := s.Search(t.Context(), v, search.Request{Query: searchtest.Parse(t, "err context:"+name), Matches: 1})
		return err
	}
	if err := ask(m, "secret"); err != nil {
		t.Fatal(err)
	}
	hidden := corpus.NewScreen(corpus.ScreenOptions{}).Hide(m, 1, func(r *code.Repository) bool { return r.ID != m.Repos[0].ID })
	known, unknown := ask(hidden, "secret"), ask(hidden, "nosuch")
	if !errors.Is(known, code.ErrNotFound) || strings.ReplaceAll(known.Error(), "secret", "nosuch") != unknown.Error() {
		t.Errorf("the context of hidden repositories: %v, an unknown one: %v", known, unknown)
	}
	askSaved := func(v corpus.View, name string) string {
		q := searchtest.Parse(t, "type:repo context:"+name)
		syntax.Contexts(q.Root)[0].Means = searchtest.Parse(t, "repo:^"+m.Repos[1].Name+"$").Root
		r, err := s.Search(t.Context(), v, search.Request{Query: q, Matches: 10})
		if err != nil || len(r.Repositories) != 1 {
			t.Fatalf("context:%s of a saved search: %+v, %v", name, r, err)
		}
		return r.Repositories[0].Name
	}
	if known, unknown := askSaved(hidden, "secret"), askSaved(hidden, "nosuch"); known != unknown {
		t.Errorf("a saved search with the name of the context finds %s, with another %s", known, unknown)
	}
	if got := askSaved(m, "secret"); got != m.Repos[0].Name {
		t.Errorf("a saved search goes before the context: found %s", got)
	}
	if err := ask(corpus.NewScreen(corpus.ScreenOptions{}).Hide(m, 1, searchtest.AllowAll), "secret"); err != nil {
		t.Error(err)
	}
}

// TestVisibilityFilterIsOfTheCaller checks that Request.Public decides which
// repositories are public.
func TestVisibilityFilterIsOfTheCaller(t *testing.T) {
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(2, 1)))
	public := func(r *code.Repository) bool { return r.ID == 1 } // contradicts Private
	for query, want := range map[string]int{"visibility:public type:repo": 1, "visibility:private type:repo": len(m.Repos) - 1, "visibility:any type:repo": len(m.Repos)} {
		r, err := newSearcher(search.Options{}).Search(t.Context(), m, search.Request{Query: searchtest.Parse(t, query), Matches: 10, Public: public})
		if err != nil || len(r.Repositories) != want {
			t.Errorf("%s: %d repositories, %v, want %d", query, len(r.Repositories), err, want)
		}
	}
}

// TestNearNamesOfPublicRepositories checks that names near a term come from the repositories
// that Request.Public selects.
func TestNearNamesOfPublicRepositories(t *testing.T) {
	m := &searchtest.Model{Refs: []code.Ref{"refs/heads/main"}}
	for i, name := range []string{"brewinghuse", "brewinghousse"} {
		m.Repos = append(m.Repos, &corpus.Repository{Repository: code.Repository{
			ID: code.RepositoryID(i + 1), Name: fmt.Sprint("host/", i), DefaultBranch: "main", Private: i == 0,
		}})
		d := &searchtest.ModelDocument{Text: []byte(name + "\n"), Lang: "C", Symbols: []code.Symbol{{Name: name, Kind: "function"}}}
		m.Documents = append(m.Documents, d)
		m.Places = append(m.Places, searchtest.ModelPlace{Repo: i, Path: "file.c", Ref: "refs/heads/main", Doc: d})
	}
	m.BuildIndex(t, 1)
	public := func(r *code.Repository) bool { return r.ID == 1 } // contradicts Private
	for which, want := range map[string]string{"public": "[brewinghuse]", "private": "[brewinghousse]"} {
		query := "brewinghouse visibility:" + which
		r, err := newSearcher(search.Options{}).Search(t.Context(), m,
			search.Request{Query: searchtest.Parse(t, query), Matches: 10, Public: public})
		if err != nil || len(r.Notices) != 1 || fmt.Sprint(r.Notices[0].Suggestions) != want {
			t.Errorf("%s: %+v, %v, want the suggestions %s", query, r.Notices, err, want)
		}
	}
}

// TestHiddenRepositoriesDoNotOrder compares answers with fewer files than there are. The
// choice of files, and their order in a stream, must not depend on hidden documents,
// however documents are distributed over segments.
func TestHiddenRepositoriesDoNotOrder(t *testing.T) {
	for round := range *roundsFlag {
		seed := searchtest.FirstSeed(t) + uint64(round)
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 83))
			m := searchtest.NewModel(t, rng)
			for range 60 {
				m.AddDocument(rng, searchtest.FillerText(rng, 2<<10))
			}
			m.BuildIndex(t, 1+rng.IntN(5))
			h := searchtest.NewHiding(t, rng, m)
			s, screen := newSearcher(search.Options{}), corpus.NewScreen(corpus.ScreenOptions{})
			hidden, rest := screen.Hide(h.Whole, 1, h.Visible), screen.Hide(h.Rest, 2, searchtest.AllowAll)
			for _, text := range []string{"return", "r", "regex:return.*struct", "kmalloc or kfree or return", "file:src", "e rev:*", "return select:file", "e select:repo", "sym:k rev:*", "how does struct kmalloc return what kfree had", "kmalloc.kfree"} {
				for _, r := range []search.Request{{Matches: 1}, {Matches: 20}, {Matches: 1100}, {Matches: 1500, Display: 7}, {Matches: 3000, ContextLines: 1}} {
					r.Query = searchtest.Parse(t, text)
					got, err := s.Search(t.Context(), hidden, r)
					if err != nil {
						t.Fatal(err)
					}
					want, err := s.Search(t.Context(), rest, r)
					if err != nil {
						t.Fatal(err)
					}
					if a, b := visibleFacts(t, got), visibleFacts(t, want); a != b {
						t.Fatalf("%s, %d of %d matches: what is hidden orders the answer: %s", text, r.Display, r.Matches, firstDifference(a, b))
					}
					got.Release()
					want.Release()
					streamed, parts := collectParts(t, s, hidden, r)
					alone, partsAlone := collectParts(t, s, rest, r)
					if a, b := visibleFacts(t, streamed), visibleFacts(t, alone); a != b || parts != partsAlone {
						t.Fatalf("%s, %d of %d matches: what is hidden orders a stream: %s", text, r.Display, r.Matches, firstDifference(a, b))
					}
				}
			}
		})
	}
}

// firstDifference returns the first difference between two texts, with its line.
func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d of %d and %d: %q, without it %q", i, len(x), len(y), x[i], y[i])
		}
	}
	return fmt.Sprintf("%d lines, without it %d", len(x), len(y))
}
