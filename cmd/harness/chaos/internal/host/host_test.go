package host

import (
	"context"
	"maps"
	"strings"
	"testing"
)

// TestModelIsWhatGitHas checks that the model equals the git repository after any pushes,
// including those to a fork.
func TestModelIsWhatGitHas(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	r, err := NewRepository(ctx, root, 3, 7)
	if err != nil {
		t.Fatal(err)
	}
	fork, err := NewFork(ctx, root, 4, 7, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, repository := range []*Repository{r, fork} {
		t.Run(repository.Name, func(t *testing.T) { checkModel(ctx, t, repository) })
	}
}

func checkModel(ctx context.Context, t *testing.T, r *Repository) {
	deleted, forced := 0, 0
	for range 60 {
		move, err := r.Push(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if move.Before == move.After {
			t.Fatalf("%+v moved nothing", move)
		}
		if move.After == zeroCommit {
			deleted++
		} else if move.Before != zeroCommit {
			if _, err := r.runGit(ctx, "merge-base", "--is-ancestor", move.Before, move.After); err != nil {
				forced++
			}
		}
	}
	if deleted == 0 || forced == 0 {
		t.Errorf("%d deleted, %d forced: nothing was shown", deleted, forced)
	}
	out, err := r.runGit(ctx, "for-each-ref", "--format=%(refname)", "refs/heads")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]string{}
	for _, ref := range strings.Fields(string(out)) {
		got[ref] = filesOf(t, r, ref)
	}
	if !maps.EqualFunc(got, r.Want(), maps.Equal[map[string]string, map[string]string]) {
		t.Errorf("git has %v, want %v", got, r.Want())
	}
}

func filesOf(t *testing.T, r *Repository, ref string) map[string]string {
	t.Helper()
	out, err := r.runGit(context.Background(), "grep", "-ohE", "--full-name", "-e", r.TokenPattern(), ref)
	if err != nil {
		t.Fatal(err)
	}
	names, err := r.runGit(context.Background(), "ls-tree", "-r", "--name-only", ref)
	if err != nil {
		t.Fatal(err)
	}
	tokens, paths := strings.Fields(string(out)), strings.Fields(string(names))
	files := map[string]string{}
	for i, p := range paths {
		files[p] = tokens[i]
	}
	return files
}
