package search

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestReadOwners checks the rules of CODEOWNERS, as GitHub and GitLab document them.
func TestReadOwners(t *testing.T) {
	const file = `# comment
*        @default
*.js     @js-owner #comment
/build/  @ops
docs/*   docs@example.com
apps/    @octocat
/scripts/**/run @ops  @Octocat
deep/lib @lib
/apps/github
with\ blank/ @blank
[bad     @nobody
!*.js    @nobody
`
	const sections = `[Docs] @writers
docs/
docs/api @api
^[Database][2]
*.sql @dba
docs/schema.sql @architect
`
	for _, c := range []struct{ text, owner, owned, others string }{
		{file, "@default", "README a/b.go docs/x/y.md apps.go", "a/x.js build/x docs/x.md apps/x deep/lib/x apps/github/x"},
		{file, "js-owner", "x.js a/b/x.js docs/x/y.js", "x.jsx build/x.js docs/x.js apps/x.js"},
		{file, "@ops", "build/a build/a/b.js scripts/run scripts/a/b/run", "src/build/a x/scripts/run"},
		{file, "docs@example.com", "docs/x.md docs/x.js", "docs/a/b.md a/docs/x.md"},
		{file, "@octocat", "apps/x x/apps/y/z scripts/run", "apps/github apps/github/x.js apps"},
		{file, "@lib", "deep/lib deep/lib/a", "x/deep/lib deep/library"},
		{file, "@blank", "with blank/x", "blank/x with/x"},
		{file, "@nobody", "", "x.js bad"},
		{file, "", "README x.js", "apps/github"},
		{sections, "@writers", "docs/a docs/b/c docs/schema.sql", "docs/api a.sql"},
		{sections, "@api", "docs/api docs/api/x", "docs/a"},
		{sections, "@dba", "a.sql x/b.sql", "docs/schema.sql"},
		{sections, "", "docs/a a.sql", "x.go"},
		{"/vendor/** @v\n", "@v", "vendor/a vendor/a/b", "vendor x/vendor/a"},
		{"a*\n/** @v\n/b\n", "@v", "a c/d", "b b/c"},
	} {
		m := newOwnersMatcher(readOwners(c.text, c.owner))
		for i, paths := range []string{c.owned, c.others} {
			for _, path := range strings.Fields(strings.ReplaceAll(paths, "with blank", "with_blank")) {
				if path = strings.ReplaceAll(path, "with_blank", "with blank"); m.owns(path) != (i == 0) {
					t.Errorf("%q owns %s: %t", c.owner, path, i != 0)
				}
			}
		}
	}
}

// TestOwnersPaths compares rules without wildcards with their regular expressions.
func TestOwnersPaths(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 37))
	randomPath := func(parts ...string) (path string) {
		for range 1 + rng.IntN(6) {
			path += parts[rng.IntN(len(parts))]
		}
		return path
	}
	held := 0
	for range 20000 {
		written, path := randomPath("a", "b", "/", "/", ".c"), strings.Trim(randomPath("a", "b", "/", "a/", ".c"), "/")
		rule := newOwnersRule(written)
		if strings.Trim(written, "/") == "" {
			continue
		}
		if strings.Contains(strings.Trim(written, "/"), "/") {
			written = "/" + strings.TrimPrefix(written, "/")
		}
		want, err := regexp.MatchString(ownersPattern(written), path)
		if got := holdsPath(&rule, "/"+path+"/"); err != nil || got != want {
			t.Fatalf("%q holds for %q: %t, want %t: %v", written, path, got, want, err)
		}
		if want {
			held++
		}
	}
	if held < 500 {
		t.Errorf("only %d rules hold for their paths", held)
	}
}

// ownedWorld is an index with CODEOWNERS in several places.
func ownedWorld(t *testing.T) *shardWorld {
	rng := rand.New(rand.NewPCG(3, 41))
	w := newShardWorld(t, rng, 4, 40)
	for i, text := range []string{"* @amy\n/src/ @bob", "/lib/ @bob\n/lib/docs @amy", "* @bob", "* @carl"} {
		for k, path := range []string{"CODEOWNERS", ".github/CODEOWNERS"}[:1+i%2] {
			d := &modelDocument{text: fmt.Appendf(nil, "%s\n# %d", text, k), lang: "C"}
			if k == 0 && i%2 == 1 {
				d.text = fmt.Appendf(nil, "* @overruled\n# %d", i) // .github/CODEOWNERS counts
			}
			w.documents = append(w.documents, d)
			ref := w.refs[0]
			if i == 2 {
				ref = w.refs[1] // not on the default branch
			}
			w.places = append(w.places, modelPlace{i, path, ref, d})
		}
	}
	w.build(t, 3)
	for i := range w.segments { // one partition, for one shard
		w.segments[i].Partition, w.branches[i].Partition = 0, 0
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
	hide := func(v View) View {
		return NewScreen(ScreenOptions{}).Hide(v, 1, func(r *code.Repository) bool { return r.ID != 2 })
	}
	for owner, has := range owns {
		for _, negated := range []bool{false, true} {
			query := fmt.Sprintf("file:has.owner(%s)", owner)
			if negated {
				query = "-" + query
			}
			views := map[string]View{"everything": w, "hidden": hide(w), "shards": openShards(t, w.sessions(1, func(v View) View { return v }))}
			for name, view := range views {
				var want, got []string
				for _, p := range w.places {
					if p.ref == w.refs[0] && (name != "hidden" || p.repo != 1) && has(p.repo, p.path) != negated {
						want = append(want, w.repos[p.repo].Name+" "+p.path)
					}
				}
				r, err := newSearcher(Options{}).Search(t.Context(), view, Request{Query: parse(t, query), Matches: 1000})
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
	m := &model{}
	rules := strings.Repeat("/"+strings.Repeat("d", 900)+` @bob\n`, maxOwnersBytes/800)
	m.script(t, "host/a CODEOWNERS Text "+rules+"\nhost/b b.go Go kmalloc\nhost/c CODEOWNERS Text * @bob")
	for query, want := range map[string]int{ // few rules are read although there are many elsewhere
		"file:has.owner(bob)": 1, "-file:has.owner(bob)": 0, "file:has.owner(amy)": 0, "-file:has.owner(amy)": 3,
	} {
		r, err := newSearcher(Options{}).Search(t.Context(), m, Request{Query: parse(t, query), Matches: 10})
		stopped := StopNone
		if strings.Contains(query, "bob") {
			stopped = StopByteLimit
		}
		if err != nil || r.Stats.Matches != want || r.Stopped != stopped {
			t.Errorf("%s: %d matches, stopped by %q, want %d, %q: %v", query, r.Stats.Matches, r.Stopped, want, stopped, err)
		}
	}
}

// TestOwnersOfAllPredicatesAreBounded checks that the rules of several predicates have one bound.
func TestOwnersOfAllPredicatesAreBounded(t *testing.T) {
	m := &model{}
	m.script(t, "host/a CODEOWNERS Text "+strings.Repeat("/"+strings.Repeat("d", 900)+` @bob @amy\n`, maxOwnersBytes/1500))
	for query, want := range map[string]StopReason{
		"file:has.owner(bob)": StopNone, "file:has.owner(bob) or file:has.owner(amy)": StopByteLimit,
	} {
		r, err := newSearcher(Options{}).Search(t.Context(), m, Request{Query: parse(t, query), Matches: 10})
		if err != nil || r.Stopped != want {
			t.Errorf("%s: stopped by %q, want %q: %v", query, r.Stopped, want, err)
		}
	}
}

// TestOwnersBeyondTheSizeOfAnswers checks that CODEOWNERS that are left out for their size make
// the answer not exhaustive, and that a negation does not take their files for files of others.
func TestOwnersBeyondTheSizeOfAnswers(t *testing.T) {
	m := &model{}
	text := "* @bob # " + strings.Repeat("filler ", 1000)
	m.script(t, "host/a CODEOWNERS Text "+text+"\nhost/b CODEOWNERS Text "+text)
	for query, want := range map[string]int{"file:has.owner(bob)": 1, "-file:has.owner(bob)": 0} {
		r, err := newSearcher(Options{MaxResultBytes: 5000}).Search(t.Context(), m, Request{Query: parse(t, query), Matches: 10})
		if err != nil || r.Stats.Matches != want || r.Exhaustive || r.Stopped != StopByteLimit {
			t.Errorf("%s: %d matches, exhaustive %t, stopped by %q, want %d: %v", query, r.Stats.Matches, r.Exhaustive, r.Stopped, want, err)
		}
	}
}

// TestOwnersWithoutRules checks the notice about an owner that no CODEOWNERS names.
func TestOwnersWithoutRules(t *testing.T) {
	m := &model{}
	m.script(t, "host/a CODEOWNERS Text * @amy\nhost/b b.go Go kmalloc")
	r, err := newSearcher(Options{}).Search(t.Context(), m, Request{Query: parse(t, "file:has.owner(bob) kmalloc"), Matches: 10})
	want := "file:has.owner(bob) selects none of the owners in CODEOWNERS of 2 repositories."
	if err != nil || len(r.Notices) != 1 || r.Notices[0].Code != syntax.FilterSelectsNothing || r.Notices[0].Message != want {
		t.Errorf("notices %v, want %q: %v", r.Notices, want, err)
	}
}
