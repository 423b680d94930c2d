package mirror

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// fetchMirror returns mirrors with that of a repository, fetched once.
func fetchMirror(t *testing.T, repo *gittest.Repository) (*Mirrors, *Mirror) {
	t.Helper()
	r := repo.Code("state", "**")
	ms, err := Open(t.Context(), Options{Dir: t.TempDir(), Policy: Policy{Schemes: []string{"file"}, Roots: []string{repo.Dir}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ms.Close() })
	m := ms.Mirror(r.ID)
	if _, err := m.Fetch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return ms, m
}

// TestIndexedStateIsReadWithoutGit checks that the indexed state is read from loose and
// packed refs, and that git reads it, and reports damage, if a file is not a ref.
func TestIndexedStateIsReadWithoutGit(t *testing.T) {
	ctx := t.Context()
	repo := gittest.New(t)
	first := repo.CommitFiles("a", "1")
	second := repo.CommitFiles("a", "2")
	ms, m := fetchMirror(t, repo)
	set := func(ref code.Ref, commit code.CommitID) {
		t.Helper()
		if err := m.SetIndexed(ctx, ref, commit, "refs/heads/main"); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(state, want string) {
		t.Helper()
		if got, err := m.readIndexed(); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v; want %s", state, got, err, want)
		}
	}
	expect("nothing is indexed", "[]")
	set("refs/heads/main", first)
	set("refs/heads/main/sub", second)
	set("refs/tags/v1", first)
	expect("loose", fmt.Sprintf("[{refs/heads/main %[1]s} {refs/heads/main/sub %[2]s} {refs/tags/v1 %[1]s}]", first, second))
	if _, err := ms.git.readOutput(ctx, command{gitDir: m.gitDir(), args: []string{"pack-refs", "--all"}}); err != nil {
		t.Fatal(err)
	}
	expect("packed", fmt.Sprintf("[{refs/heads/main %[1]s} {refs/heads/main/sub %[2]s} {refs/tags/v1 %[1]s}]", first, second))
	set("refs/heads/main", second)
	set("refs/tags/v1", "")
	expect("packed, then changed", fmt.Sprintf("[{refs/heads/main %[1]s} {refs/heads/main/sub %[1]s}]", second))
	if err := os.WriteFile(filepath.Join(m.gitDir(), filepath.FromSlash(indexedName("refs/heads/main"))), []byte("damaged\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := m.IndexedRevisions(ctx); err == nil {
		t.Errorf("a damaged ref: %v, want an error", got)
	}
}

// TestDamagedIndexedState checks that the indexed state is never read from a part of the
// files: refs that are missing from it would stay indexed after they are deleted.
func TestDamagedIndexedState(t *testing.T) {
	ctx := t.Context()
	repo := gittest.New(t)
	commit := repo.CommitFiles("a", "1")
	ms, m := fetchMirror(t, repo)
	for _, ref := range []code.Ref{"refs/heads/main", "refs/heads/other"} {
		if err := m.SetIndexed(ctx, ref, commit, "refs/heads/main"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ms.git.readOutput(ctx, command{gitDir: m.gitDir(), args: []string{"pack-refs", "--all"}}); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("[{refs/heads/main %[1]s} {refs/heads/other %[1]s}]", commit)
	path := filepath.Join(m.gitDir(), "packed-refs")
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var many strings.Builder
	for i := range maxPackedRefs / 50 {
		fmt.Fprintf(&many, "%s refs/tags/%08d\n", commit, i)
	}
	for name, content := range map[string]string{
		"cut": string(packed[:len(packed)-20]), "a block of zeros": string(packed) + strings.Repeat("\x00", 512) + "\n",
		"no name": string(packed) + string(commit) + "\n", "too large": string(packed) + many.String(),
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := m.readIndexed(); err == nil {
			t.Errorf("%s: %v is read without git", name, got)
		}
		got, err := m.IndexedRevisions(ctx)
		if isWhole := name == "too large"; isWhole && (err != nil || fmt.Sprint(got) != want) || !isWhole && !errors.Is(err, errDamaged) {
			t.Errorf("%s: %v, %v; want %s, or that it is damaged", name, got, err, want)
		}
	}
	if err := os.WriteFile(path, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := m.readIndexed(); err != nil || fmt.Sprint(got) != want {
		t.Errorf("restored: %v, %v; want %s", got, err, want)
	}
	// A mirror that is being removed.
	for _, part := range []string{"packed-refs", "refs"} {
		if err := os.RemoveAll(filepath.Join(m.gitDir(), part)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := m.readIndexed(); err == nil {
		t.Errorf("without its refs: %v is read", got)
	}
}
