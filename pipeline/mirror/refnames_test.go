package mirror_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestEveryRefThatGitAccepts fetches refs with unusual names. Each is either fetched, and
// can be read and recorded as indexed, or listed with the reason.
func TestEveryRefThatGitAccepts(t *testing.T) {
	forEachRemote(t, func(t *testing.T, clone func(*gittest.Repository) string) {
		ctx := t.Context()
		repo := gittest.New(t)
		commit := repo.CommitFiles("a.txt", "one\n")
		fetched := []code.Ref{
			"refs/heads/main", "refs/heads/user/-wip", "refs/heads/user/--x/-y", "refs/heads/@", "refs/heads/é/{}", "refs/heads/a'b\"c$d",
			"refs/heads/refs/heads/main", "refs/heads/HEAD/x", "refs/heads/a", "refs/tags/rel/-1", code.Ref("refs/heads/" + strings.Repeat(strings.Repeat("long", 22)+"/", 10) + "x"),
		}
		unsupported := map[code.Ref]string{
			"refs/heads/lat\xe4in": "is not UTF-8", "refs/tags/\xff": "is not UTF-8", "refs/heads/-x": "begins with a dash", "refs/tags/--x/y": "begins with a dash",
			"refs/heads/b/-": `element "-"`, "refs/heads/c/-/d": `element "-"`, code.Ref("refs/heads/" + strings.Repeat(strings.Repeat("long", 22)+"/", 12) + "x"): "at most 1024",
		}
		for _, ref := range slices.Concat(fetched, slices.Collect(maps.Keys(unsupported))) {
			repo.Git("update-ref", string(ref), string(commit))
		}
		repo.Git("symbolic-ref", "HEAD", "refs/heads/user/-wip")
		m := open(t, mirror.Options{}).Mirror(1)
		r := code.Repository{ID: 1, Name: "r", CloneURL: clone(repo), Branches: []string{"**"}, Tags: []string{"**"}}
		for _, list := range []struct {
			name string
			read func() (mirror.State, error)
		}{
			{"fetch", func() (mirror.State, error) { return m.Fetch(ctx, r) }},
			{"list", func() (mirror.State, error) { return m.List(ctx, r) }},
		} {
			s, err := list.read()
			if err != nil || s.Default != "refs/heads/user/-wip" {
				t.Fatalf("%s: default branch %q, %v; want refs/heads/user/-wip", list.name, s.Default, err)
			}
			var have []code.Ref
			for _, rev := range s.Revisions {
				have = append(have, rev.Ref)
			}
			slices.Sort(have)
			if want := slices.Sorted(slices.Values(fetched)); !slices.Equal(have, want) {
				t.Errorf("%s: refs\n%q, want\n%q", list.name, have, want)
			}
			if s.Selection.Unsupported != len(unsupported) {
				t.Errorf("%s: %d unsupported refs, want %d", list.name, s.Selection.Unsupported, len(unsupported))
			}
			for ref, reason := range unsupported {
				if !slices.ContainsFunc(s.Selection.UnsupportedRefs, func(u mirror.UnsupportedRef) bool {
					return u.Ref == code.SpellPath(string(ref)) && strings.Contains(u.Reason, reason)
				}) {
					t.Errorf("%s: %q is not listed with reason %q, but %q", list.name, ref, reason, s.Selection.UnsupportedRefs)
				}
			}
			if text := s.Selection.String(); !strings.Contains(text, "cannot be indexed: 7; ref ") {
				t.Errorf("%s: summary %q does not name the unsupported refs", list.name, text)
			}
		}
		for _, ref := range fetched {
			if err := m.SetIndexed(ctx, ref, commit, ""); err != nil {
				t.Errorf("record %s as indexed: %v", ref, err)
			}
			if got, err := m.IndexedCommit(ctx, ref); err != nil || got != commit {
				t.Errorf("%s is recorded at %q, %v; want %s", ref, got, err, commit)
			}
		}
		if got, err := m.FetchRefs(ctx, r, fetched...); err != nil || len(got) != len(fetched) {
			t.Errorf("fetched %d pushed refs of %d: %v", len(got), len(fetched), err)
		}
		// Without globs, only the default branch counts.
		r.Branches, r.Tags = nil, nil
		if s, err := m.List(ctx, r); err != nil || s.Selection.Unsupported != 0 || s.Default != "refs/heads/user/-wip" {
			t.Errorf("without globs: %+v, %v; want refs/heads/user/-wip and no unsupported ref", s, err)
		}
		repo.Git("symbolic-ref", "HEAD", "refs/heads/lat\xe4in")
		for _, read := range []func() (mirror.State, error){func() (mirror.State, error) { return m.List(ctx, r) }, func() (mirror.State, error) { return m.Fetch(ctx, r) }} {
			s, err := read()
			if err != nil || s.Default != "refs/heads/main" || s.Selection.Unsupported != 1 || !strings.Contains(s.Selection.String(), `lat\xe4in" is not UTF-8`) {
				t.Errorf("HEAD at a ref that is not UTF-8: default %q, %q, %v; want main, and the name of the other", s.Default, s.Selection, err)
			}
		}
	})
}

// TestOnlyUnsupportedRefs reports that there is no default branch, and why.
func TestOnlyUnsupportedRefs(t *testing.T) {
	forEachRemote(t, func(t *testing.T, clone func(*gittest.Repository) string) {
		repo := gittest.New(t)
		commit := repo.CommitFiles("a.txt", "one\n")
		repo.Git("update-ref", "refs/heads/lat\xe4in", string(commit))
		repo.Git("symbolic-ref", "HEAD", "refs/heads/lat\xe4in")
		repo.Git("update-ref", "-d", "refs/heads/main")
		m := open(t, mirror.Options{}).Mirror(1)
		if s, err := m.Fetch(t.Context(), code.Repository{ID: 1, Name: "r", CloneURL: clone(repo)}); err == nil || !strings.Contains(err.Error(), "is not UTF-8") {
			t.Errorf("fetched %+v, %v; want an error that names the ref", s, err)
		}
	})
}
