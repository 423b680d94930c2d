package mirror_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestListSaysWhatFetchWould compares List with Fetch: both must select the same branches
// and the same default, by path and over HTTP.
func TestListSaysWhatFetchWould(t *testing.T) {
	tests := []struct {
		name     string
		branches []string
		tags     []string
		def      string
		setup    func(r *gittest.Repository)
	}{
		{name: "default branch alone"},
		{name: "globs", branches: []string{"release/*"}},
		{name: "tags", branches: []string{"**"}, tags: []string{"v*"}},
		{name: "all tags", tags: []string{"**"}},
		{name: "registered default branch", def: "trunk"},
		{name: "registered default branch that is not there", def: "gone"},
		{name: "another branch in HEAD", setup: func(r *gittest.Repository) { r.Git("symbolic-ref", "HEAD", "refs/heads/trunk") }},
		{name: "detached HEAD", setup: func(r *gittest.Repository) { r.Git("checkout", "--quiet", "--detach", "trunk") }},
		{name: "HEAD without a branch", setup: func(r *gittest.Repository) { r.Git("symbolic-ref", "HEAD", "refs/heads/unborn") }},
	}
	forEachRemote(t, func(t *testing.T, clone func(*gittest.Repository) string) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				g := gittest.New(t)
				g.CommitFiles("a.go", "package a\n")
				g.Git("branch", "release/1")
				g.Git("branch", "other")
				g.Git("checkout", "--quiet", "-b", "trunk")
				g.CommitFiles("b.go", "package b\n")
				g.Git("tag", "v1", "main")
				g.Git("tag", "-a", "-m", "annotated", "v2", "main")
				g.Git("tag", "-a", "-m", "of a tag", "v2-again", "v2")
				g.Git("tag", "deep/v3", "trunk")
				g.Git("tag", "v-tree", "main^{tree}")
				g.Git("tag", "-a", "-m", "of a tree", "v-annotated-tree", "main^{tree}")
				g.Git("checkout", "--quiet", "main")
				if test.setup != nil {
					test.setup(g)
				}
				r := g.Code("anvil", test.branches...)
				r.CloneURL, r.DefaultBranch, r.Tags = clone(g), test.def, test.tags
				ms := open(t, mirror.Options{})
				listed, err := ms.List(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				if ids, err := ms.Repositories(); err != nil || len(ids) != 0 {
					t.Errorf("List made mirrors: %v, %v", ids, err)
				}
				fetched, err := ms.Mirror(r.ID).Fetch(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				// A listing resolves a tag object only after the tag was fetched.
				if listed, err = ms.List(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				if listed.Default != fetched.Default || !slices.Equal(listed.Revisions, fetched.Revisions) {
					t.Errorf("listed %+v, fetched %+v", listed, fetched)
				}
				if listed, fetched := listed.Selection, fetched.Selection; len(test.branches)+len(test.tags) > 0 && listed.String() != fetched.String() {
					t.Errorf("listed %s, fetched %s", listed, fetched)
				}
				for _, tag := range []code.Ref{"refs/tags/v-tree", "refs/tags/v-annotated-tree"} {
					if got := strings.Contains(fmt.Sprint(fetched.Selection.UnsupportedRefs), fmt.Sprintf("{%s ref %q names a tree or a file, and no commit", tag, tag)); got != mirror.IsSelected(r, fetched.Default, tag) {
						t.Errorf("%s is listed as unsupported: %t; %+v", tag, got, fetched.Selection.UnsupportedRefs)
					}
				}
				for _, rev := range fetched.Revisions {
					if rev.Ref.IsTag() && string(rev.Commit) != g.Git("rev-parse", string(rev.Ref)+"^{commit}") {
						t.Errorf("%s is at %s", rev.Ref, rev.Commit)
					}
				}
			})
		}
	})
}

func TestListFailsAsFetchDoes(t *testing.T) {
	ms := open(t, mirror.Options{})
	gone := code.Repository{ID: 7, CloneURL: filepath.Join(os.TempDir(), "quarry-no-such-repository")}
	if _, err := ms.List(t.Context(), gone); !errors.Is(err, mirror.ErrVanished) {
		t.Errorf("a repository that is not there: %v", err)
	}
	refused := code.Repository{ID: 8, CloneURL: "https://192.168.7.7/x.git"}
	if _, err := ms.List(t.Context(), refused); !errors.Is(err, mirror.ErrRefused) {
		t.Errorf("a clone URL that the policy refuses: %v, want %v", err, mirror.ErrRefused)
	}
	empty := gittest.New(t).Code("empty")
	if s, err := ms.List(t.Context(), empty); err != nil || len(s.Revisions) != 0 {
		t.Errorf("an empty repository: %+v, %v", s, err)
	}
}
