package assist

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// ownedWorld is an index with CODEOWNERS in several places.
func ownedWorld(t *testing.T) *shardWorld {
	rng := rand.New(rand.NewPCG(3, 41))
	w := newShardWorld(t, rng, 4, 40)
	for i, text := range []string{"* @amy\n/src/ @bob", "/lib/ @bob\n/lib/docs @amy", "* @bob", "* @carl"} {
		for k, path := range []string{"CODEOWNERS", ".github/CODEOWNERS"}[:1+i%2] {
			d := &searchtest.ModelDocument{Text: fmt.Appendf(nil, "%s\n# %d", text, k), Lang: "C"}
			if k == 0 && i%2 == 1 {
				d.Text = fmt.Appendf(nil, "* @overruled\n# %d", i) // .github/CODEOWNERS counts
			}
			w.Documents = append(w.Documents, d)
			ref := w.Refs[0]
			if i == 2 {
				ref = w.Refs[1] // not on the default branch
			}
			w.Places = append(w.Places, searchtest.ModelPlace{Repo: i, Path: path, Ref: ref, Doc: d})
		}
	}
	w.BuildIndex(t, 3)
	for i := range w.OnDefault { // one partition, for one shard
		w.OnDefault[i].Partition, w.OnRefs[i].Partition = 0, 0
	}
	return w
}

// TestOwners compares the files of owners, also with hidden repositories and in a shard,
// with what the rules of the test say.
func TestOwners(t *testing.T) {
	w := ownedWorld(t)
	w.partitions = 1
	owns := map[string]func(repo int, path string) bool{
		"@bob": func(repo int, path string) bool {
			return repo == 0 && strings.HasPrefix(path, "src/") || repo == 1 && strings.HasPrefix(path, "lib/")
		},
		"AMY":        func(repo int, path string) bool { return repo == 0 && !strings.HasPrefix(path, "src/") },
		"@overruled": func(int, string) bool { return false },
		"": func(repo int, path string) bool {
			return repo == 0 || repo == 3 || repo == 1 && strings.HasPrefix(path, "lib/")
		},
	}
	hide := func(v corpus.View) corpus.View {
		return corpus.NewScreen(corpus.ScreenOptions{}).Hide(v, 1, func(r *code.Repository) bool { return r.ID != 2 })
	}
	for owner, has := range owns {
		for _, negated := range []bool{false, true} {
			query := fmt.Sprintf("file:has.owner(%s)", owner)
			if negated {
				query = "-" + query
			}
			views := map[string]corpus.View{"everything": w, "hidden": hide(w), "shards": openShards(t, w.sessions(1, func(v corpus.View) corpus.View { return v }))}
			for name, view := range views {
				var want, got []string
				for _, p := range w.Places {
					if p.Ref == w.Refs[0] && (name != "hidden" || p.Repo != 1) && has(p.Repo, p.Path) != negated {
						want = append(want, w.Repos[p.Repo].Name+" "+p.Path)
					}
				}
				r, err := newSearcher(search.Options{}).Search(t.Context(), view, search.Request{Query: searchtest.Parse(t, query), Matches: 1000})
				if err != nil || !r.Exhaustive {
					t.Fatalf("%s: %v", query, err)
				}
				for i := range r.Files {
					got = append(got, r.Files[i].Repo.Name+" "+r.Files[i].Path)
				}
				slices.Sort(want)
				slices.Sort(got)
				if !slices.Equal(slices.Compact(want), got) || len(want) == 0 && !negated && owner != "@overruled" {
					t.Errorf("%s of %s: %q, want %q", query, name, got, want)
				}
			}
		}
	}
}

// TestOwnersAreBounded checks that too many rules make the answer not exhaustive, and that
// a negation then selects nothing.
func TestOwnersAreBounded(t *testing.T) {
	m := &searchtest.Model{}
	rules := strings.Repeat("/"+strings.Repeat("d", 900)+` @bob\n`, maxOwnersBytes/800)
	m.AddScript(t, "host/a CODEOWNERS Text "+rules+"\nhost/b b.go Go kmalloc\nhost/c CODEOWNERS Text * @bob")
	for query, want := range map[string]int{ // few rules are read although there are many elsewhere
		"file:has.owner(bob)": 1, "-file:has.owner(bob)": 0, "file:has.owner(amy)": 0, "-file:has.owner(amy)": 3,
	} {
		r, err := newSearcher(search.Options{}).Search(t.Context(), m, search.Request{Query: searchtest.Parse(t, query), Matches: 10})
		stopped := search.StopNone
		if strings.Contains(query, "bob") {
			stopped = search.StopByteLimit
		}
		if err != nil || r.Stats.Matches != want || r.Stopped != stopped {
			t.Errorf("%s: %d matches, stopped by %q, want %d, %q: %v", query, r.Stats.Matches, r.Stopped, want, stopped, err)
		}
	}
}

// TestOwnersOfAllPredicatesAreBounded checks that the rules of several predicates have one bound.
func TestOwnersOfAllPredicatesAreBounded(t *testing.T) {
	m := &searchtest.Model{}
	m.AddScript(t, "host/a CODEOWNERS Text "+strings.Repeat("/"+strings.Repeat("d", 900)+` @bob @amy\n`, maxOwnersBytes/1500))
	for query, want := range map[string]search.StopReason{
		"file:has.owner(bob)": search.StopNone, "file:has.owner(bob) or file:has.owner(amy)": search.StopByteLimit,
	} {
		r, err := newSearcher(search.Options{}).Search(t.Context(), m, search.Request{Query: searchtest.Parse(t, query), Matches: 10})
		if err != nil || r.Stopped != want {
			t.Errorf("%s: stopped by %q, want %q: %v", query, r.Stopped, want, err)
		}
	}
}

// TestOwnersBeyondTheSizeOfAnswers checks that CODEOWNERS that are left out for their size make
// the answer not exhaustive, and that a negation does not take their files for files of others.
func TestOwnersBeyondTheSizeOfAnswers(t *testing.T) {
	m := &searchtest.Model{}
	text := "* @bob # " + strings.Repeat("filler ", 1000)
	m.AddScript(t, "host/a CODEOWNERS Text "+text+"\nhost/b CODEOWNERS Text "+text)
	for query, want := range map[string]int{"file:has.owner(bob)": 1, "-file:has.owner(bob)": 0} {
		r, err := newSearcher(search.Options{MaxResultBytes: 5000}).Search(t.Context(), m, search.Request{Query: searchtest.Parse(t, query), Matches: 10})
		if err != nil || r.Stats.Matches != want || r.Exhaustive || r.Stopped != search.StopByteLimit {
			t.Errorf("%s: %d matches, exhaustive %t, stopped by %q, want %d: %v", query, r.Stats.Matches, r.Exhaustive, r.Stopped, want, err)
		}
	}
}

// TestOwnersWithoutRules checks the notice about an owner that no CODEOWNERS names.
func TestOwnersWithoutRules(t *testing.T) {
	m := &searchtest.Model{}
	m.AddScript(t, "host/a CODEOWNERS Text * @amy\nhost/b b.go Go kmalloc")
	r, err := newSearcher(search.Options{}).Search(t.Context(), m, search.Request{Query: searchtest.Parse(t, "file:has.owner(bob) kmalloc"), Matches: 10})
	want := "file:has.owner(bob) selects none of the owners in CODEOWNERS of 2 repositories."
	if err != nil || len(r.Notices) != 1 || r.Notices[0].Code != syntax.FilterSelectsNothing || r.Notices[0].Message != want {
		t.Errorf("notices %v, want %q: %v", r.Notices, want, err)
	}
}
