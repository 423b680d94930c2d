package mirror_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// refsOf returns the names of the refs of a state.
func refsOf(s mirror.State) (names []string) {
	for _, rev := range s.Revisions {
		names = append(names, string(rev.Ref))
	}
	return names
}

// TestSelectionSaysWhatGlobsTake counts the refs that globs select, and suggests similar
// names for globs that select nothing.
func TestSelectionSaysWhatGlobsTake(t *testing.T) {
	g := gittest.New(t)
	g.CommitFiles("a.go", "package a\n")
	for _, name := range []string{"release/1", "release/2", "team/a/fix", "team/b/fix", "next"} {
		g.Git("branch", name)
	}
	g.Git("tag", "v1.0")
	g.Git("tag", "v1.1")
	tests := []struct {
		branches, tags []string
		want           string
	}{
		{want: "1 of 6 branches"},
		{branches: []string{"*"}, want: "2 of 6 branches; ** takes all"},
		{branches: []string{"**"}, want: "6 of 6 branches"},
		{branches: []string{"t*"}, want: `1 of 6 branches; ** in place of * takes 3; "t*" selects no branch; near are t**`},
		{branches: []string{"relase/*"}, want: `1 of 6 branches; "relase/*" selects no branch; near are release/*`},
		{branches: []string{"nxet"}, want: `1 of 6 branches; "nxet" selects no branch; near are next`},
		{branches: []string{"team/*"}, want: `1 of 6 branches; ** in place of * takes 3; "team/*" selects no branch; near are team/**`},
		{tags: []string{"v1.*"}, want: "1 of 6 branches; 2 of 2 tags"},
		{tags: []string{"1.*"}, want: `1 of 6 branches; 0 of 2 tags; "1.*" selects no tag; near are v1.0, v1.1`},
		{tags: []string{"main"}, want: `1 of 6 branches; 0 of 2 tags; "main" selects no tag`},
	}
	for _, test := range tests {
		r := g.Code("anvil", test.branches...)
		r.Tags = test.tags
		s, err := open(t, mirror.Options{}).Mirror(r.ID).Fetch(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Selection.String(); got != test.want {
			t.Errorf("branches %q, tags %q:\n got %s\nwant %s", test.branches, test.tags, got, test.want)
		}
	}
}

// TestLimitKeepsTheNewestRefs selects more refs than are indexed: those with the newest
// commits are kept, as new commits arrive, and the default branch always.
func TestLimitKeepsTheNewestRefs(t *testing.T) {
	forEachRemote(t, func(t *testing.T, clone func(*gittest.Repository) string) {
		g := gittest.New(t)
		g.CommitFiles("a.go", "package a\n")
		for i := range 6 { // names descend while commit times ascend
			g.Git("checkout", "--quiet", "-b", fmt.Sprint("b", 9-i), "main")
			t.Setenv("GIT_COMMITTER_DATE", fmt.Sprintf("2026-01-%02dT00:00:00Z", i+1))
			g.CommitFiles("b.go", fmt.Sprintf("package b%d\n", i))
		}
		g.Git("tag", "-a", "-m", "new", "v1", "b4")
		g.Git("checkout", "--quiet", "main")
		r := g.Code("anvil", "**")
		r.CloneURL, r.Tags = clone(g), []string{"*"}
		ms := open(t, mirror.Options{MaxRefs: 4})
		check := func(want, leftOut []string) {
			t.Helper()
			s, err := ms.Mirror(r.ID).Fetch(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if got := refsOf(s); !slices.Equal(got, want) {
				t.Errorf("kept %q, want %q", got, want)
			}
			var names []string
			for _, ref := range s.Selection.LeftOutRefs {
				names = append(names, string(ref))
				if !s.LeavesOut(ref) {
					t.Errorf("%s is not left out", ref)
				}
			}
			if !slices.Equal(names, leftOut) || s.Selection.LeftOut != len(leftOut) || s.Selection.Limit != 4 {
				t.Errorf("left out %q (%d), want %q", names, s.Selection.LeftOut, leftOut)
			}
			listed, err := ms.List(t.Context(), r)
			if err != nil || !slices.Equal(listed.Revisions, s.Revisions) || !reflect.DeepEqual(listed.Selection, s.Selection) {
				t.Errorf("listed %+v, fetched %+v: %v", listed, s, err)
			}
		}
		check([]string{"refs/heads/main", "refs/heads/b4", "refs/heads/b5", "refs/tags/v1"}, []string{"refs/heads/b6", "refs/heads/b7", "refs/heads/b8", "refs/heads/b9"})
		g.Git("checkout", "--quiet", "b9")
		t.Setenv("GIT_COMMITTER_DATE", "2026-02-01T00:00:00Z")
		g.CommitFiles("c.go", "package c\n")
		g.Git("checkout", "--quiet", "main")
		// A listing treats an unknown commit as a new one.
		if s, err := ms.List(t.Context(), r); err != nil || !slices.ContainsFunc(s.Revisions, func(rev code.Revision) bool { return rev.Ref == "refs/heads/b9" }) {
			t.Errorf("listed %+v, %v", s, err)
		}
		check([]string{"refs/heads/main", "refs/heads/b4", "refs/heads/b9", "refs/tags/v1"}, []string{"refs/heads/b5", "refs/heads/b6", "refs/heads/b7", "refs/heads/b8"})
		g.Git("tag", "-d", "v1")
		check([]string{"refs/heads/main", "refs/heads/b4", "refs/heads/b5", "refs/heads/b9"}, []string{"refs/heads/b6", "refs/heads/b7", "refs/heads/b8"})
	})
}
