package corpus_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestScreenKeepsWhatItKnows counts visibility checks, and checks that a changed state
// and a changed decision under another key take effect immediately.
func TestScreenKeepsWhatItKnows(t *testing.T) {
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(3, 1)))
	for len(m.Repos) < 3 {
		m.Repos = append(m.Repos, &corpus.Repository{Repository: code.Repository{ID: code.RepositoryID(len(m.Repos) + 1), Name: fmt.Sprint("host/r", len(m.Repos))}})
	}
	screen, asked := corpus.NewScreen(corpus.ScreenOptions{MaxScreens: 2}), 0
	look := func(key any, hidden code.RepositoryID) (seen int) {
		for _, r := range screen.Hide(m, key, func(r *code.Repository) bool { asked++; return r.ID != hidden }).Repositories() {
			if r != nil {
				seen++
			}
		}
		return seen
	}
	n := len(m.Repos)
	if first, again := look("a", 1), look("a", 1); first != n-1 || again != n-1 || asked != n {
		t.Errorf("asked %d times, want %d", asked, n)
	}
	if look("b", 99) != n || look("c", 2) != n-1 || asked != 3*n {
		t.Errorf("asked %d times, want %d", asked, 3*n)
	}
	if look("a", 1); asked != 4*n {
		t.Errorf("asked %d times, want %d: the oldest was to go", asked, 4*n)
	}
	m.Repos = append(slices.Clone(m.Repos), &corpus.Repository{Repository: code.Repository{ID: 50, Name: "host/new"}})
	if seen := look("a", 1); seen != n {
		t.Errorf("%d seen of a new state, want %d", seen, n)
	}
	if held := screen.CachedBytes(); held <= 0 || screen.States() != 1 {
		t.Errorf("%d bytes of %d held", held, screen.States())
	}
}

// TestTablesAreTakenOver checks that tables reused from the previous state equal tables
// computed from scratch.
func TestTablesAreTakenOver(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 80))
		m := searchtest.NewModel(t, rng)
		screen := corpus.NewScreen(corpus.ScreenOptions{})
		for step := range 6 {
			if step == 3 { // one more repository
				m.Repos = append(slices.Clone(m.Repos), &corpus.Repository{Repository: code.Repository{ID: 90, Name: "host/more", DefaultBranch: "main"}})
			}
			if rng.IntN(2) == 0 { // a new copy of a segment
				m.OnDefault = slices.Clone(m.OnDefault)
				m.OnDefault[0].Places = rebuildPlaces(m.OnDefault[0])
			}
			mask := rng.IntN(1 << len(m.Repos))
			visible := func(r *code.Repository) bool { return r.ID == 90 || mask>>(r.ID-1)&1 != 0 }
			got, want := screen.Hide(m, fmt.Sprint(mask), visible), corpus.NewScreen(corpus.ScreenOptions{}).Hide(m, "fresh", visible)
			if !reflect.DeepEqual(got.Segments(), want.Segments()) || !reflect.DeepEqual(got.Repositories(), want.Repositories()) {
				t.Fatalf("seed %d step %d: %d segments, want %d", seed, step, len(got.Segments()), len(want.Segments()))
			}
		}
	}
}

// TestScreenIsSafe uses two states from many goroutines at the same time.
func TestScreenIsSafe(t *testing.T) {
	screen := corpus.NewScreen(corpus.ScreenOptions{MaxScreens: 3})
	var states []*searchtest.Model
	for seed := range uint64(2) {
		states = append(states, searchtest.NewModel(t, rand.New(rand.NewPCG(seed, 82))))
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

// TestExistingContextsAreBounded checks that the search for names ends if many contexts
// have no repository.
func TestExistingContextsAreBounded(t *testing.T) {
	checks := 0
	contexts := map[string]corpus.Context{"a": func(string) bool { checks++; return true }}
	for _, name := range []string{"b", "c", "d"} {
		contexts[name] = func(string) bool { checks++; return false }
	}
	contexts["e"] = func(string) bool { return true }
	repositories := func(yield func(string) bool) {
		for yield("anvil") {
		}
	}
	if names := slices.Collect(corpus.ExistingContexts(contexts, repositories, "")); !slices.Equal(names, []string{"a"}) || checks != corpus.MaxContextChecks {
		t.Errorf("after %d comparisons %q exist, want a after %d", checks, names, corpus.MaxContextChecks)
	}
	if names := slices.Collect(corpus.ExistingContexts(contexts, repositories, "E")); !slices.Equal(names, []string{"e"}) {
		t.Errorf("%q exist with the letter E, want e", names)
	}
}

// rebuildPlaces returns a copy of the places of a segment.
func rebuildPlaces(s corpus.Segment) *segment.Places {
	b := segment.NewPlacesBuilder(s.Reader.Documents())
	for i := range s.Places.Len() {
		b.Add(s.Places.Doc[i], s.Places.Repo[i], segment.NoRef, s.Places.Flags[i], string(s.Places.Path(i)))
	}
	return b.Build()
}
