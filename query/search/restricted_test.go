package search

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// hiding is a corpus with some hidden repositories, and the same corpus without them: it
// contains no document that is only in hidden repositories.
type hiding struct {
	whole, rest *model
	visible     func(*code.Repository) bool
}

// newHiding hides repositories of a model at random, but leaves at least one visible.
func newHiding(t testing.TB, rng *rand.Rand, m *model) *hiding {
	h := &hiding{whole: m}
	shown := []int{}
	for i := range h.whole.repos {
		if rng.IntN(2) == 0 || len(shown) == 0 && i == len(h.whole.repos)-1 {
			shown = append(shown, i)
		}
	}
	h.visible = func(r *code.Repository) bool { return slices.Contains(shown, int(r.ID)-1) }
	h.rest = &model{refs: h.whole.refs}
	for _, i := range shown {
		h.rest.repos = append(h.rest.repos, h.whole.repos[i])
	}
	kept := map[*modelDocument]bool{}
	for _, p := range h.whole.places {
		if i := slices.Index(shown, p.repo); i >= 0 {
			kept[p.doc] = true
			p.repo = i
			h.rest.places = append(h.rest.places, p)
		}
	}
	for _, d := range h.whole.documents {
		if kept[d] {
			h.rest.documents = append(h.rest.documents, d)
		}
	}
	h.rest.build(t, 1+rng.IntN(3))
	return h
}

func allowAll(*code.Repository) bool { return true }

// TestHiddenRepositoriesDoNotExist compares the answers to a caller who cannot see some
// repositories with a plain scan of the visible ones, and with the answers to an equally
// restricted caller of an index that contains only the visible ones.
func TestHiddenRepositoriesDoNotExist(t *testing.T) {
	s, screen := newSearcher(Options{}), NewScreen(ScreenOptions{})
	for round := range *roundsFlag {
		seed := firstSeed(t) + uint64(round)
		rng := rand.New(rand.NewPCG(seed, 79))
		h := newHiding(t, rng, newModel(t, rng))
		hidden := screen.Hide(h.whole, seed*2, h.visible)
		rest := screen.Hide(h.rest, seed*2+1, allowAll)
		judge := &oracle{t: t, m: h.rest, compiled: map[string]*regexp.Regexp{}}
		ask := asker{rng, h.whole} // also uses words of hidden text
		for range 25 {
			judge.q = ask.query()
			parsed, err := syntax.Parse(judge.q.String(), syntax.Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := judge.wholeAnswer()
			t.Run(fmt.Sprintf("seed=%d/%s", seed, parsed), func(t *testing.T) {
				c := checker{t, s, hidden, parsed, want, "hidden"}
				c.checkAnswer(rng)
				whole := Request{Matches: 1 << 20, Whole: true, Explain: true}
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
	rng := rand.New(rand.NewPCG(firstSeed(t), 81))
	s, screen := newSearcher(Options{}), NewScreen(ScreenOptions{})
	for round := range 3 {
		m := newModel(t, rng)
		for range 6 {
			m.addDocument(rng, fillerText(rng, 100<<10))
		}
		m.build(t, 2)
		h := newHiding(t, rng, m)
		view := screen.Hide(m, round, h.visible)
		judge := &oracle{t: t, m: h.rest, compiled: map[string]*regexp.Regexp{}}
		for _, text := range []string{"kmalloc", "kmalloc or kfree", "kmalloc kfree struct", "naïve -struct", "sym:kmalloc naïve rev:*", "kmalloc visibility:private", "regex:k.*free select:repo"} {
			judge.q = parse(t, text)
			c := checker{t, s, view, judge.q, judge.wholeAnswer(), text}
			c.checkAnswer(rng)
		}
	}
}

// visibleFacts returns everything in a result except times.
func visibleFacts(t *testing.T, r *Result) string {
	t.Helper()
	stats := reflect.ValueOf(&r.Stats).Elem()
	for i := range stats.NumField() {
		if f := stats.Field(i); f.Type().String() == "time.Duration" {
			f.SetZero()
		}
	}
	if r.Explain != nil {
		r.Explain.Stages = Stages{}
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
	m := &model{refs: []code.Ref{"refs/heads/main"}}
	for i := range 2 {
		m.repos = append(m.repos, &Repository{Repository: code.Repository{ID: code.RepositoryID(i + 1), Name: fmt.Sprint("host/", i), DefaultBranch: "main"}})
	}
	for i := range 40 {
		d := &modelDocument{text: []byte(fmt.Sprintf("common text %d\n%s\n", i, strings.Repeat("filler ", 900))), lang: "C"}
		path := "file"
		if i%2 == 1 {
			path, d.text = "hiddenword", append(d.text, "hiddenword common\n"...)
			d.symbols = []code.Symbol{{Name: "hiddenword", Kind: "function", Offset: uint32(len(d.text) - len("hiddenword common\n"))}}
		}
		m.documents = append(m.documents, d)
		m.places = append(m.places, modelPlace{i % 2, fmt.Sprintf("%s%d.c", path, i), "refs/heads/main", d})
	}
	m.build(t, 1)
	s := newSearcher(Options{})
	view := NewScreen(ScreenOptions{}).Hide(m, "public", func(r *code.Repository) bool { return r.ID == 1 })
	for _, query := range []string{"%s", "%s common", "common %s", "file:%s9", "-%s common", "%s or common", "regex:%s\\s", "sym:%s", "type:repo %s", "rev:* %s common", "how is %s common", "repo:has.content(%s) common", "-repo:has.content(%s) common",
		"repo:has.path(%s) common", "-repo:has.path(%s) type:repo", "file:has.content(%s) common", "file:has.content(common) %s", "repo:has.file(path:%s content:common)", "%s or common or filler", "common.%s"} {
		for _, explain := range []bool{false, true} {
			var facts [2]string
			for i, word := range []string{"hiddenword", "nobodyword"} {
				r, err := s.Search(t.Context(), view, Request{Query: parse(t, fmt.Sprintf(query, word)), Matches: 10, Explain: explain})
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
	m := newModel(t, rand.New(rand.NewPCG(1, 1)))
	s := newSearcher(Options{Contexts: map[string]Context{"secret": func(name string) bool { return name == m.repos[0].Name }}})
	ask := func(v View, name string) error {
		_, err := s.Search(t.Context(), v, Request{Query: parse(t, "err context:"+name), Matches: 1})
		return err
	}
	if err := ask(m, "secret"); err != nil {
		t.Fatal(err)
	}
	hidden := NewScreen(ScreenOptions{}).Hide(m, 1, func(r *code.Repository) bool { return r.ID != m.repos[0].ID })
	known, unknown := ask(hidden, "secret"), ask(hidden, "nosuch")
	if !errors.Is(known, code.ErrNotFound) || strings.ReplaceAll(known.Error(), "secret", "nosuch") != unknown.Error() {
		t.Errorf("the context of hidden repositories: %v, an unknown one: %v", known, unknown)
	}
	if err := ask(NewScreen(ScreenOptions{}).Hide(m, 1, allowAll), "secret"); err != nil {
		t.Error(err)
	}
}

// TestVisibilityFilterIsOfTheCaller checks that Request.Public decides which
// repositories are public.
func TestVisibilityFilterIsOfTheCaller(t *testing.T) {
	m := newModel(t, rand.New(rand.NewPCG(2, 1)))
	public := func(r *code.Repository) bool { return r.ID == 1 } // contradicts Private
	for query, want := range map[string]int{"visibility:public type:repo": 1, "visibility:private type:repo": len(m.repos) - 1, "visibility:any type:repo": len(m.repos)} {
		r, err := newSearcher(Options{}).Search(t.Context(), m, Request{Query: parse(t, query), Matches: 10, Public: public})
		if err != nil || len(r.Repositories) != want {
			t.Errorf("%s: %d repositories, %v, want %d", query, len(r.Repositories), err, want)
		}
	}
}

// TestScreenKeepsWhatItKnows counts visibility checks, and checks that a changed state
// and a changed decision under another key take effect immediately.
func TestScreenKeepsWhatItKnows(t *testing.T) {
	m := newModel(t, rand.New(rand.NewPCG(3, 1)))
	for len(m.repos) < 3 {
		m.repos = append(m.repos, &Repository{Repository: code.Repository{ID: code.RepositoryID(len(m.repos) + 1), Name: fmt.Sprint("host/r", len(m.repos))}})
	}
	screen, asked := NewScreen(ScreenOptions{MaxScreens: 2}), 0
	look := func(key any, hidden code.RepositoryID) (seen int) {
		for _, r := range screen.Hide(m, key, func(r *code.Repository) bool { asked++; return r.ID != hidden }).Repositories() {
			if r != nil {
				seen++
			}
		}
		return seen
	}
	n := len(m.repos)
	if first, again := look("a", 1), look("a", 1); first != n-1 || again != n-1 || asked != n {
		t.Errorf("asked %d times, want %d", asked, n)
	}
	if look("b", 99) != n || look("c", 2) != n-1 || asked != 3*n {
		t.Errorf("asked %d times, want %d", asked, 3*n)
	}
	if look("a", 1); asked != 4*n {
		t.Errorf("asked %d times, want %d: the oldest was to go", asked, 4*n)
	}
	m.repos = append(slices.Clone(m.repos), &Repository{Repository: code.Repository{ID: 50, Name: "host/new"}})
	if seen := look("a", 1); seen != n {
		t.Errorf("%d seen of a new state, want %d", seen, n)
	}
	if held := screen.cachedBytes(); held <= 0 || len(screen.mu.known) != 1 {
		t.Errorf("%d bytes of %d held", held, len(screen.mu.known))
	}
}

// TestTablesAreTakenOver checks that tables reused from the previous state equal tables
// computed from scratch.
func TestTablesAreTakenOver(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 80))
		m := newModel(t, rng)
		screen := NewScreen(ScreenOptions{})
		for step := range 6 {
			if step == 3 { // one more repository
				m.repos = append(slices.Clone(m.repos), &Repository{Repository: code.Repository{ID: 90, Name: "host/more", DefaultBranch: "main"}})
			}
			if rng.IntN(2) == 0 { // a new copy of a segment
				m.segments = slices.Clone(m.segments)
				m.segments[0].Places = rebuildPlaces(m.segments[0])
			}
			mask := rng.IntN(1 << len(m.repos))
			visible := func(r *code.Repository) bool { return r.ID == 90 || mask>>(r.ID-1)&1 != 0 }
			got, want := screen.Hide(m, fmt.Sprint(mask), visible), newScreenedState(m, visible, nil)
			if !reflect.DeepEqual(got.Segments(), want.segments) || !reflect.DeepEqual(got.Repositories(), want.repos) {
				t.Fatalf("seed %d step %d: %d segments, want %d", seed, step, len(got.Segments()), len(want.segments))
			}
		}
	}
}

// rebuildPlaces returns a copy of the places of a segment.
func rebuildPlaces(s Segment) *segment.Places {
	b := segment.NewPlacesBuilder(s.Reader.Documents())
	for i := range s.Places.Len() {
		b.Add(s.Places.Doc[i], s.Places.Repo[i], segment.NoRef, s.Places.Flags[i], string(s.Places.Path(i)))
	}
	return b.Build()
}

// TestHiddenNamesUseUpNoBound defines a name in many hidden files, before the file that the
// caller may see. The search still finds that file first.
func TestHiddenNamesUseUpNoBound(t *testing.T) {
	m := &model{refs: []code.Ref{"refs/heads/main"}}
	for i := range 2 {
		m.repos = append(m.repos, &Repository{Repository: code.Repository{ID: code.RepositoryID(i + 1), Name: fmt.Sprint("host/", i), DefaultBranch: "main"}})
	}
	add := func(repo int, path, text string, symbols ...code.Symbol) {
		d := &modelDocument{text: []byte(text), lang: "C", symbols: symbols}
		m.documents = append(m.documents, d)
		m.places = append(m.places, modelPlace{repo, path, "refs/heads/main", d})
	}
	for i := range 2 * maxDefining {
		text, symbols := fmt.Sprint("soughtname hidden ", i, "\n"), []code.Symbol{{Name: "soughtname", Kind: "function"}}
		for k := range 200 {
			name := fmt.Sprintf("another_symbol_with_a_long_name_%d_%d", i, k)
			symbols = append(symbols, code.Symbol{Name: name, Kind: "function", Offset: uint32(len(text))})
			text += name + "\n"
		}
		add(1, fmt.Sprintf("hidden%d.c", i), text, symbols...)
	}
	for i := range 2 * enoughOfSeveral {
		add(0, fmt.Sprintf("use%d.c", i), fmt.Sprint("soughtname used ", i, "\n", strings.Repeat("filler ", 900)))
	}
	add(0, "last.c", "soughtname defined\n", code.Symbol{Name: "soughtname", Kind: "function"})
	m.build(t, 1)
	view := NewScreen(ScreenOptions{}).Hide(m, "public", func(r *code.Repository) bool { return r.ID == 1 })
	r, err := newSearcher(Options{}).Search(t.Context(), view, Request{Query: parse(t, "soughtname"), Matches: 5})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Files) == 0 || r.Files[0].Path != "last.c" {
		t.Errorf("the file that defines the name is not the first of %v", resultNames(r))
	}
}

// TestScreenIsSafe uses two states from many goroutines at the same time.
func TestScreenIsSafe(t *testing.T) {
	screen := NewScreen(ScreenOptions{MaxScreens: 3})
	var states []*model
	for seed := range uint64(2) {
		states = append(states, newModel(t, rand.New(rand.NewPCG(seed, 82))))
	}
	var group sync.WaitGroup
	for who := range 8 {
		group.Go(func() {
			for i := range 200 {
				m := states[(who+i/7)%2]
				hidden := code.RepositoryID(who%3 + 1)
				v := screen.Hide(m, who%5, func(r *code.Repository) bool { return r.ID != code.RepositoryID(who%5+1) })
				for _, r := range v.Repositories() {
					if r != nil && who < 3 && r.ID == hidden {
						t.Errorf("%d sees %s", who, r.Name)
					}
				}
			}
		})
	}
	group.Wait()
}

// TestHiddenRepositoriesDoNotOrder compares answers with fewer files than there are. The
// choice of files, and their order in a stream, must not depend on hidden documents,
// however documents are distributed over segments.
func TestHiddenRepositoriesDoNotOrder(t *testing.T) {
	for round := range *roundsFlag {
		seed := firstSeed(t) + uint64(round)
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 83))
			m := newModel(t, rng)
			for range 60 {
				m.addDocument(rng, fillerText(rng, 2<<10))
			}
			m.build(t, 1+rng.IntN(5))
			h := newHiding(t, rng, m)
			s, screen := newSearcher(Options{}), NewScreen(ScreenOptions{})
			hidden, rest := screen.Hide(h.whole, 1, h.visible), screen.Hide(h.rest, 2, allowAll)
			for _, text := range []string{"return", "r", "regex:return.*struct", "kmalloc or kfree or return", "file:src", "e rev:*", "return select:file", "e select:repo", "sym:k rev:*", "how does struct kmalloc return what kfree had", "kmalloc.kfree"} {
				for _, r := range []Request{{Matches: 1}, {Matches: 20}, {Matches: 1100}, {Matches: 1500, Display: 7}, {Matches: 3000, ContextLines: 1}} {
					r.Query = parse(t, text)
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
					streamed, parts := collect(t, s, hidden, r)
					alone, partsAlone := collect(t, s, rest, r)
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

// TestExistingContextsAreBounded checks that the search for names ends if many contexts
// have no repository.
func TestExistingContextsAreBounded(t *testing.T) {
	checks := 0
	contexts := map[string]Context{"a": func(string) bool { checks++; return true }}
	for _, name := range []string{"b", "c", "d"} {
		contexts[name] = func(string) bool { checks++; return false }
	}
	contexts["e"] = func(string) bool { return true }
	repositories := func(yield func(string) bool) {
		for yield("anvil") {
		}
	}
	if names := slices.Collect(ExistingContexts(contexts, repositories, "")); !slices.Equal(names, []string{"a"}) || checks != maxContextChecks {
		t.Errorf("after %d comparisons %q exist, want a after %d", checks, names, maxContextChecks)
	}
	if names := slices.Collect(ExistingContexts(contexts, repositories, "E")); !slices.Equal(names, []string{"e"}) {
		t.Errorf("%q exist with the letter E, want e", names)
	}
}
