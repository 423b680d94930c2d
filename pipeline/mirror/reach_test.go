package mirror_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestReach requests commits of a repository with one indexed and one fetched branch, by
// path and over HTTP, after a forced push and a deleted branch.
func TestReach(t *testing.T) {
	forEachRemote(t, func(t *testing.T, clone func(*gittest.Repository) string) {
		ctx := t.Context()
		repo := gittest.New(t)
		first := repo.CommitFiles("a.txt", "one\n")
		dropped := repo.CommitFiles("a.txt", "dropped\n")
		repo.Git("checkout", "--quiet", "-b", "release/1")
		released := repo.CommitFiles("a.txt", "released\n")
		repo.Git("checkout", "--quiet", "-b", "unselected", string(first))
		elsewhere := repo.CommitFiles("a.txt", "unselected\n")
		repo.Git("checkout", "--quiet", "--detach", string(first))
		tagged := repo.CommitFiles("a.txt", "tagged\n")
		repo.Git("tag", "--annotate", "--message", "v1", "v1")
		repo.Git("checkout", "--quiet", "main")
		r := repo.Code("r", "release/*")
		r.CloneURL = clone(repo)
		byPath := strings.HasPrefix(r.CloneURL, "/")
		m := open(t, mirror.Options{}).Mirror(r.ID)
		fetch := func() {
			t.Helper()
			s, err := m.Fetch(ctx, r)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.SetIndexed(ctx, "refs/heads/main", s.Revisions[0].Commit, s.Default); err != nil {
				t.Fatal(err)
			}
		}
		check := func(commit code.CommitID, want mirror.Reach) {
			t.Helper()
			if got, err := m.Reach(ctx, commit); err != nil || got != want {
				t.Errorf("reach of %s is %d, %v; want %d", commit, got, err, want)
			}
		}
		onDisk := mirror.ReachNone
		if byPath {
			onDisk = mirror.ReachFetched
		}
		fetch()
		check(first, mirror.ReachIndexed)
		check(dropped, mirror.ReachIndexed)
		check(released, mirror.ReachFetched)
		if byPath { // no other mirror has them
			check(elsewhere, onDisk)
			check(tagged, onDisk)
		}
		repo.Git("reset", "--quiet", "--hard", string(first))
		head := repo.CommitFiles("a.txt", "rewritten\n")
		fetch()
		check(head, mirror.ReachIndexed)
		check(first, mirror.ReachIndexed)
		check(dropped, mirror.ReachFetched) // through release/1
		repo.Git("branch", "--quiet", "-D", "release/1")
		fetch()
		check(dropped, mirror.ReachNone)
		check(released, mirror.ReachNone)
		check(first, mirror.ReachIndexed)
		if _, err := m.Reach(ctx, "--all"); err == nil {
			t.Error("a name that is no commit was taken")
		}
	})
}

// TestReachFromAnOldMirror drops a commit with a forced push that only another mirror fetches, as
// after the partition of the repository has moved to another process and back.
func TestReachFromAnOldMirror(t *testing.T) {
	ctx := t.Context()
	repo := gittest.New(t)
	first := repo.CommitFiles("a.txt", "one\n")
	dropped := repo.CommitFiles("a.txt", "dropped\n")
	repo.Git("checkout", "--quiet", "-b", "release/1", string(first))
	released := repo.CommitFiles("a.txt", "released\n")
	repo.Git("checkout", "--quiet", "main")
	r := repo.Code("r", "release/*")
	r.CloneURL = serveGit(t, filepath.Dir(repo.Dir)) + "/repository"
	old, current := open(t, mirror.Options{}).Mirror(r.ID), open(t, mirror.Options{}).Mirror(r.ID)
	fetch := func(m *mirror.Mirror, commit code.CommitID) {
		t.Helper()
		if _, err := m.Fetch(ctx, r); err != nil {
			t.Fatal(err)
		}
		if err := m.SetIndexed(ctx, "refs/heads/main", commit, "refs/heads/main"); err != nil {
			t.Fatal(err)
		}
	}
	main := func(commit code.CommitID) []code.Revision {
		return []code.Revision{{Ref: "refs/heads/main", Commit: commit}, {Ref: code.PinRef(dropped), Commit: dropped}}
	}
	check := func(m *mirror.Mirror, commit code.CommitID, index []code.Revision, want mirror.Reach, failure error) {
		t.Helper()
		if got, err := m.ReachFrom(ctx, commit, index); got != want || !errors.Is(err, failure) {
			t.Errorf("reach of %s is %d, %v; want %d, %v", commit, got, err, want, failure)
		}
	}
	fetch(old, dropped)
	check(old, dropped, main(dropped), mirror.ReachIndexed, nil)
	check(old, first, main(dropped), mirror.ReachIndexed, nil)
	check(old, released, main(dropped), mirror.ReachFetched, nil)
	check(old, dropped, main(first), mirror.ReachNone, nil) // the index has a reset that the mirror lacks
	check(old, first, main(first), mirror.ReachIndexed, nil)
	check(old, dropped, nil, mirror.ReachNone, nil) // the branch is deleted
	repo.Git("reset", "--quiet", "--hard", string(first))
	head := repo.CommitFiles("a.txt", "rewritten\n")
	fetch(current, head)
	check(current, head, main(head), mirror.ReachIndexed, nil)
	check(current, released, main(head), mirror.ReachFetched, nil)
	check(current, dropped, main(head), mirror.ReachNone, mirror.ErrMissing)
	check(old, dropped, main(head), mirror.ReachNone, mirror.ErrMissing)
	check(old, first, append(main(head), code.Revision{Ref: "refs/heads/release/1", Commit: released}), mirror.ReachIndexed, nil)
	if _, err := old.ReachFrom(ctx, dropped, main("--all")); err == nil {
		t.Error("a name that is no commit was taken")
	}
	newer := repo.CommitFiles("a.txt", "pushed, and not indexed yet\n")
	if _, err := current.Fetch(ctx, r); err != nil {
		t.Fatal(err)
	}
	check(current, newer, main(head), mirror.ReachFetched, nil)
}
