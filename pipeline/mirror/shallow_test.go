package mirror_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestShallowRepository fetches a shallow clone with the history that it has, and follows
// its commits.
func TestShallowRepository(t *testing.T) {
	ctx := t.Context()
	whole := gittest.New(t)
	for _, text := range []string{"one\n", "two\n", "three\n"} {
		whole.CommitFiles("a", text)
	}
	dir := filepath.Join(t.TempDir(), "repository")
	whole.Git("clone", "--quiet", "--depth=2", "file://"+whole.Dir, dir)
	for name, url := range map[string]string{"path": dir, "http": serveGit(t, filepath.Dir(dir)) + "/repository"} {
		t.Run(name, func(t *testing.T) {
			m := open(t, mirror.Options{}).Mirror(1)
			r := code.Repository{ID: 1, Name: "r", CloneURL: url, Branches: []string{"**"}}
			for round := range 2 {
				s, err := m.Fetch(ctx, r)
				if err != nil || len(s.Revisions) != 1 {
					t.Fatalf("fetch %d: %v, %v; want one branch", round, s.Revisions, err)
				}
				if !s.Selection.Shallow || !strings.Contains(s.Selection.String(), "the history is cut") {
					t.Errorf("fetch %d: selection %q does not say that the history is cut", round, s.Selection)
				}
				log, err := m.Log(ctx, mirror.LogQuery{Commit: s.Revisions[0].Commit, Limit: 10})
				if err != nil || len(log) < 2 {
					t.Errorf("fetch %d: %d commits in the history, %v; want at least 2", round, len(log), err)
				}
				whole.Git("-C", dir, "-c", "user.name=n", "-c", "user.email=e@x.org", "commit", "--quiet", "--allow-empty", "-m", "more")
				if _, err := fetchRef(ctx, m, r, "refs/heads/main"); err != nil {
					t.Errorf("fetch %d: pushed ref: %v", round, err)
				}
			}
		})
	}
}

// TestWholeRepositoryIsNotShallow has no note about the history.
func TestWholeRepositoryIsNotShallow(t *testing.T) {
	forEachRemote(t, func(t *testing.T, clone func(*gittest.Repository) string) {
		repo := gittest.New(t)
		repo.CommitFiles("a", "one\n")
		s, err := open(t, mirror.Options{}).Mirror(1).Fetch(t.Context(), code.Repository{ID: 1, Name: "r", CloneURL: clone(repo)})
		if err != nil || s.Selection.Shallow || s.Selection.Partial || strings.Contains(s.Selection.String(), "cut") {
			t.Errorf("selection %q, %v; want no note about the history", s.Selection, err)
		}
	})
}

// TestPartialClone indexes what a partial clone on this machine has, and says that it is one.
func TestPartialClone(t *testing.T) {
	whole := gittest.New(t)
	whole.CommitFiles("a", "one\n")
	whole.Git("config", "uploadpack.allowFilter", "true")
	dir := filepath.Join(t.TempDir(), "repository")
	whole.Git("clone", "--quiet", "--bare", "--filter=blob:none", "file://"+whole.Dir, dir)
	s, err := open(t, mirror.Options{}).Mirror(1).Fetch(t.Context(), code.Repository{ID: 1, Name: "r", CloneURL: dir})
	if err != nil || len(s.Revisions) != 1 || !s.Selection.Partial || !strings.Contains(s.Selection.String(), "partial clone") {
		t.Errorf("%v, selection %q, %v; want one branch, and a note that it is a partial clone", s.Revisions, s.Selection, err)
	}
}
