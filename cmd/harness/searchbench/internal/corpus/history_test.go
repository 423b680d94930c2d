package corpus

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHistoryOfVersions creates the history of three versions, branches on it, and the
// repository of its distinct text.
func TestHistoryOfVersions(t *testing.T) {
	ctx, out := context.Background(), t.TempDir()
	versions := map[string]map[string]string{
		"1": {"a.go": "one", "b.go": "same", "gone.go": "x", "was/dir.go": "d"},
		"2": {"a.go": "two", "b.go": "same", "new.go": "n", "was": "a file now"},
		"3": {"a.go": "one", "b.go": "same", "new.go": "n2", "was": "a file now"},
	}
	fetchers["test"] = func(_ context.Context, _, version, _, dest string) (string, error) {
		for path, content := range versions[version] {
			writeTestFile(t, filepath.Join(dest, path), content)
		}
		return version, nil
	}
	defer delete(fetchers, "test")
	list := List{Repositories: []Repository{{Name: "h", Set: "history", From: "test", Steps: 3, Packages: []string{"p@1", "p@2", "p@3"}}}}
	manifest, err := Build(ctx, list, Options{Out: out, MinFreeBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	built, bare := manifest.Repositories[0], GitPath(out, "h")
	if built.Files != 4 || built.TextBytes != int64(len("one"+"same"+"n2"+"a file now")) || len(built.Served) != 3 {
		t.Errorf("built %+v", built)
	}
	show := func(dir, revision string) string {
		t.Helper()
		listed, err := gitCommand(dir, "ls-tree", "-r", "--name-only", revision).captureOutput(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, path := range strings.Fields(string(listed)) {
			content, err := gitCommand(dir, "cat-file", "blob", revision+":"+path).captureOutput(ctx)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&text, "%s=%s ", path, content)
		}
		return text.String()
	}
	// One commit, then five paths in three, then two in two.
	if got, _ := History(ctx, bare, "main"); len(got) != 6 {
		t.Errorf("%d commits, want 6", len(got))
	}
	for revision, want := range map[string]string{
		"main":   "a.go=one b.go=same new.go=n2 was=a file now ",
		"main~2": "a.go=two b.go=same new.go=n was=a file now ",
		"main~5": "a.go=one b.go=same gone.go=x was/dir.go=d ",
	} {
		if got := show(bare, revision); got != want {
			t.Errorf("%s has %q, want %q", revision, got, want)
		}
	}

	branches := filepath.Join(out, "branches.git")
	commits, err := AddBranches(ctx, bare, branches, 3)
	if err != nil {
		t.Fatal(err)
	}
	last, err := resolveCommit(ctx, branches, "refs/heads/topic/b00001")
	if head, _ := resolveCommit(ctx, branches, "main"); err != nil || last != commits[1] || head != commits[2] || len(commits) != 3 {
		t.Errorf("branches at %v, one at %s, %v", commits, last, err)
	}
	if _, err := AddBranches(ctx, bare, branches+"2", 7); err == nil {
		t.Error("seven branches at six commits")
	}

	dir := filepath.Join(out, "text.git")
	text, err := CollectText(ctx, branches, dir)
	if err != nil {
		t.Fatal(err)
	}
	got := show(dir, "main")
	for _, content := range []string{"=one ", "=same ", "=n2 ", "=a file now "} {
		if strings.Count(got, content) != 1 {
			t.Errorf("the distinct text is %q, want %q once", got, content)
		}
	}
	if refs, err := gitCommand(dir, "for-each-ref", "--format=%(refname)").captureOutput(ctx); err != nil || string(refs) != "refs/heads/main\n" || text.Files != strings.Count(got, "=") {
		t.Errorf("refs %q, %v; %d files", refs, err, text.Files)
	}
	if _, err := os.Stat(TreePath(out, "h")); err == nil {
		t.Error("a history has a tree")
	}
}
