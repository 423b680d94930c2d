package mirror_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestSubmodulesAreListed lists the submodules of a tree with a usable .gitmodules file,
// and of trees without one.
func TestSubmodulesAreListed(t *testing.T) {
	repo := gittest.New(t)
	repo.CommitFiles("a.txt", "one\n")
	r := repo.Code("r")
	m := open(t, mirror.Options{}).Mirror(r.ID)
	other := code.CommitID(strings.Repeat("12", 20))
	commitModules := func(text string, links ...string) code.CommitID {
		t.Helper()
		for _, path := range links {
			repo.Git("update-index", "--add", "--cacheinfo", "160000,"+string(other)+","+path)
		}
		repo.Write(".gitmodules", text)
		repo.Git("add", ".gitmodules")
		repo.Git("commit", "--quiet", "--message", "modules")
		s, err := m.Fetch(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return s.Revisions[0].Commit
	}
	list := func(commit code.CommitID, most int) []code.Submodule {
		t.Helper()
		got, err := m.ListSubmodules(t.Context(), code.Repository{CloneURL: "https://git.example/group/parent.git"}, commit, most)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	module := func(path, url string) string {
		return fmt.Sprintf("[submodule %q]\n\tpath = %s\n\turl = %s\n", path, path, url)
	}
	commit := commitModules(module("lib/b", "../b.git")+module("lib/a", "https://ann:hunter2@git.example/a")+module("lib/none", "../none.git")+module("a.txt", "../text.git")+module("lib/x", "ext::sh -c id"), "lib/a", "lib/b", "lib/x", "lib/unnamed")
	want := []code.Submodule{{CloneURL: "https://git.example/a", Commit: other}, {CloneURL: "https://git.example/group/b.git", Commit: other}}
	if got := list(commit, 100); !slices.Equal(got, want) {
		t.Errorf("listed %+v, want %+v", got, want)
	}
	if got := list(commit, 1); !slices.Equal(got, want[:1]) {
		t.Errorf("listed %+v, want %+v", got, want[:1])
	}
	for what, text := range map[string]string{"not a configuration": "[submodule", "too large": strings.Repeat("# comment\n", 110_000)} {
		if got := list(commitModules(text), 100); len(got) != 0 {
			t.Errorf("%s: listed %+v", what, got)
		}
	}
}

// TestPinsAreResolved checks which commits an indexed branch leads to, before and after a
// forced push, and that a pin does not make its own commit reachable.
func TestPinsAreResolved(t *testing.T) {
	forEachRemote(t, func(t *testing.T, clone func(*gittest.Repository) string) {
		ctx := t.Context()
		repo := gittest.New(t)
		first := repo.CommitFiles("a.txt", "one\n")
		dropped := repo.CommitFiles("a.txt", "dropped\n")
		head := repo.CommitFiles("a.txt", "head\n")
		r := repo.Code("r")
		r.CloneURL = clone(repo)
		m := open(t, mirror.Options{}).Mirror(r.ID)
		unknown := code.CommitID(strings.Repeat("12", 20))
		tree := code.CommitID(strings.TrimSpace(repo.Git("rev-parse", "HEAD^{tree}")))
		resolve := func(want ...code.CommitID) {
			t.Helper()
			if _, err := m.Fetch(ctx, r); err != nil {
				t.Fatal(err)
			}
			asked := []code.CommitID{dropped, first, unknown, tree, first, "", "--all"}
			got, unreachable, err := m.ResolvePins(ctx, asked)
			if err != nil {
				t.Fatal(err)
			}
			if len(got)+len(unreachable) != len(asked)-1 { // one of them twice
				t.Errorf("%d and %d of %d commits", len(got), len(unreachable), len(asked))
			}
			var resolved []code.CommitID
			for _, rev := range got {
				if rev.Ref != code.PinRef(rev.Commit) {
					t.Errorf("the ref of %s is %s", rev.Commit, rev.Ref)
				}
				resolved = append(resolved, rev.Commit)
			}
			slices.Sort(want)
			if !slices.Equal(resolved, want) {
				t.Errorf("resolved %v, want %v", resolved, want)
			}
		}
		resolve()
		for _, commit := range []code.CommitID{head, dropped} {
			ref := code.Ref("refs/heads/main")
			if commit == dropped {
				ref = code.PinRef(dropped)
			}
			if err := m.SetIndexed(ctx, ref, commit, "refs/heads/main"); err != nil {
				t.Fatal(err)
			}
		}
		resolve(first, dropped)
		repo.Git("reset", "--quiet", "--hard", string(first))
		rewritten := repo.CommitFiles("a.txt", "rewritten\n")
		resolve(first, dropped) // the branch is not indexed at the new commit yet
		if err := m.SetIndexed(ctx, "refs/heads/main", rewritten, "refs/heads/main"); err != nil {
			t.Fatal(err)
		}
		resolve(first)
		if reach, err := m.Reach(ctx, dropped); err != nil || reach != mirror.ReachNone {
			t.Errorf("reach of a pin that no branch leads to: %d, %v; want %d", reach, err, mirror.ReachNone)
		}
	})
}

// TestStoredPins reads back the pins and submodules of a mirror.
func TestStoredPins(t *testing.T) {
	repo := gittest.New(t)
	repo.CommitFiles("a.txt", "one\n")
	r := repo.Code("r")
	m := open(t, mirror.Options{}).Mirror(r.ID)
	if err := m.Save(r); err != nil {
		t.Fatal(err)
	}
	pins := []code.CommitID{code.CommitID(strings.Repeat("12", 20))}
	modules := []code.Submodule{{CloneURL: "https://git.example/a", Commit: pins[0]}}
	for _, n := range []int{0, 1, 0} {
		if err := m.SavePins(pins[:n]); err != nil {
			t.Fatal(err)
		}
		if err := m.SaveSubmodules(modules[:n]); err != nil {
			t.Fatal(err)
		}
		if got, err := m.Pins(); err != nil || !slices.Equal(got, pins[:n]) {
			t.Errorf("pins %v, %v; want %v", got, err, pins[:n])
		}
		if got := m.Submodules(); !slices.Equal(got, modules[:n]) {
			t.Errorf("submodules %v; want %v", got, modules[:n])
		}
	}
}
