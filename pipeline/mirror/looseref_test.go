package mirror

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestIndexedStateIsReadWithoutGit checks that the indexed state is read from loose and
// packed refs, and that git reads it, and reports damage, if a file is not a ref.
func TestIndexedStateIsReadWithoutGit(t *testing.T) {
	ctx := t.Context()
	repo := gittest.New(t)
	first := repo.CommitFiles("a", "1")
	second := repo.CommitFiles("a", "2")
	r := repo.Code("state", "**")
	ms, err := Open(ctx, Options{Dir: t.TempDir(), Policy: Policy{Schemes: []string{"file"}, Roots: []string{repo.Dir}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ms.Close()
	m := ms.Mirror(r.ID)
	if _, err := m.Fetch(ctx, r); err != nil {
		t.Fatal(err)
	}
	set := func(ref code.Ref, commit code.CommitID) {
		t.Helper()
		if err := m.SetIndexed(ctx, ref, commit, "refs/heads/main"); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(state, want string) {
		t.Helper()
		if got, ok := m.readIndexed(); !ok || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %t; want %s", state, got, ok, want)
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
