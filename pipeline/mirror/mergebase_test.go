package mirror_test

import (
	"errors"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

func TestMergeBase(t *testing.T) {
	repo := gittest.New(t)
	root := repo.CommitFiles("a", "1")
	left := repo.CommitFiles("a", "2")
	repo.Git("checkout", "--quiet", "-b", "right", string(root))
	right := repo.CommitFiles("b", "3")
	repo.Git("branch", "left", string(left))
	repo.Git("checkout", "--quiet", "--orphan", "alone")
	alone := repo.CommitFiles("c", "4")
	repo.Git("checkout", "--quiet", "main")
	r := repo.Code("r")
	r.Branches = []string{"*"}
	m := open(t, mirror.Options{}).Mirror(r.ID)
	if _, err := m.Fetch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if base, err := m.MergeBase(t.Context(), left, right); err != nil || base != root {
		t.Errorf("ancestor of two branches: %s, %v; want %s", base, err, root)
	}
	if base, err := m.MergeBase(t.Context(), root, right); err != nil || base != root {
		t.Errorf("ancestor of a commit and its descendant: %s, %v; want %s", base, err, root)
	}
	if base, err := m.MergeBase(t.Context(), left, alone); !errors.Is(err, mirror.ErrRefNotFound) {
		t.Errorf("ancestor of unrelated commits: %s, %v, want %v", base, err, mirror.ErrRefNotFound)
	}
	if _, err := m.MergeBase(t.Context(), left, code.CommitID("--help")); err == nil {
		t.Error("an option passes for a commit")
	}
}
