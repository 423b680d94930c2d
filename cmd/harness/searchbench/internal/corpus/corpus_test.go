package corpus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseListRefuses(t *testing.T) {
	for name, in := range map[string]string{
		"not JSON":     `[`,
		"twice":        `{"repositories":[{"name":"a","from":"goroot"},{"name":"a","from":"goroot"}]}`,
		"name":         `{"repositories":[{"name":"../a","from":"goroot"}]}`,
		"origin":       `{"repositories":[{"name":"a","from":"ftp","packages":["x@1"]}]}`,
		"no packages":  `{"repositories":[{"name":"a","from":"npm"}]}`,
		"no version":   `{"repositories":[{"name":"a","from":"npm","packages":["x"]}]}`,
		"an option":    `{"repositories":[{"name":"a","from":"npm","packages":["--x@1"]}]}`,
		"leaves":       `{"repositories":[{"name":"a","from":"npm","packages":["x/../../y@1"]}]}`,
		"many pushes":  `{"repositories":[{"name":"a","from":"goroot","pushes":100}]}`,
		"go needs one": `{"repositories":[{"name":"a","from":"goroot","packages":["x@1"]}]}`,
	} {
		if _, err := ParseList([]byte(in)); !errors.Is(err, ErrInvalidList) {
			t.Errorf("%s: %v, want ErrInvalidList", name, err)
		}
	}
}

func TestSplitPackage(t *testing.T) {
	for in, want := range map[string][2]string{
		"@angular/core@1.2.3": {"@angular/core", "1.2.3"}, "a.b/c@v1+incompatible": {"a.b/c", "v1+incompatible"}, "g:a@1": {"g:a", "1"},
	} {
		if name, version := splitPackage(in); name != want[0] || version != want[1] {
			t.Errorf("%s: %s %s", in, name, version)
		}
	}
}

// TestImportTreeIsReproducible imports a tree twice, in two places. Both imports have the
// same commit and the content of the files, whatever their names and attributes.
func TestImportTreeIsReproducible(t *testing.T) {
	ctx := context.Background()
	tree := filepath.Join(t.TempDir(), "tree")
	contents := map[string]string{
		".gitattributes": "* text eol=crlf\n", ".gitignore": "*.c\n", "dir/a.c": "line\r\nline\n", "with space\tand\"quote\".txt": "x", "bin": "a\x00b",
		"big.txt": strings.Repeat("x", MaxTextBytes+1),
	}
	for path, content := range contents {
		writeTestFile(t, filepath.Join(tree, path), content)
	}
	if err := os.Symlink("dir/a.c", filepath.Join(tree, "link")); err != nil {
		t.Fatal(err)
	}
	files, err := listFiles(tree)
	if err != nil {
		t.Fatal(err)
	}
	var commits []string
	for i := range 2 {
		bare := filepath.Join(t.TempDir(), fmt.Sprint(i))
		var built Built
		if err := importTree(ctx, bare, tree, files, &built); err != nil {
			t.Fatal(err)
		}
		if built.Files != 7 || built.TextFiles != 4 {
			t.Errorf("%d files, %d of text; want 7 and 4", built.Files, built.TextFiles)
		}
		commit, err := resolveCommit(ctx, bare, "HEAD")
		if err != nil {
			t.Fatal(err)
		}
		commits = append(commits, commit)
		for path, want := range contents {
			got, err := exec.Command("git", "--git-dir", bare, "cat-file", "blob", "HEAD:"+path).Output()
			if err != nil || string(got) != want {
				t.Errorf("%q: %d bytes, %v; want %d bytes", path, len(got), err, len(want))
			}
		}
	}
	if commits[0] != commits[1] {
		t.Errorf("commits %s and %s differ", commits[0], commits[1])
	}
}

func TestPreparePushes(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	tree, bare, side := filepath.Join(dir, "tree"), filepath.Join(dir, "git"), filepath.Join(dir, "side")
	for i := range 10 {
		writeTestFile(t, filepath.Join(tree, fmt.Sprintf("d%d/f.c", i)), strings.Repeat("int x;\n", 1000))
	}
	files, err := listFiles(tree)
	if err != nil {
		t.Fatal(err)
	}
	var built Built
	if err := importTree(ctx, bare, tree, files, &built); err != nil {
		t.Fatal(err)
	}
	pushes, err := preparePushes(ctx, bare, side, tree, "demo", files, 3)
	if err != nil {
		t.Fatal(err)
	}
	head, err := resolveCommit(ctx, bare, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range pushes {
		if p.Before != head {
			t.Errorf("push %d begins at %s, want %s", i, p.Before, head)
		}
		head = p.Commit
		out, err := exec.Command("git", "--git-dir", side, "diff", "--numstat", p.Before, p.Commit).Output()
		if want := "1\t0\t" + p.Path + "\n"; err != nil || string(out) != want {
			t.Errorf("push %d changes %q %v, want %q", i, out, err, want)
		}
	}
	if _, err := preparePushes(ctx, bare, side, tree, "demo", files, 11); err == nil {
		t.Error("more pushes than files were accepted")
	}
}

// TestBuildResumes repeats a build. The second build finds everything in place, and a
// changed entry is rebuilt.
func TestBuildResumes(t *testing.T) {
	out := t.TempDir()
	served := 0
	fetchers["test"] = func(_ context.Context, name, version, _, dest string) (string, error) {
		served++
		if name == "broken" {
			return "", errors.New("not served")
		}
		if err := os.MkdirAll(dest, 0o755); err != nil {
			return "", err
		}
		return version, os.WriteFile(filepath.Join(dest, "f"), []byte(name+version), 0o644)
	}
	defer delete(fetchers, "test")
	list := List{Repositories: []Repository{
		{Name: "one", Set: "mixed", From: "test", Packages: []string{"a@1", "b@1"}}, {Name: "bad", From: "test", Packages: []string{"broken@1"}}, {Name: "two", Set: "mixed", From: "test", Packages: []string{"a@2"}},
	}}
	opts := Options{Out: out, MinFreeBytes: 1}
	for round, want := range []int{4, 5, 7} {
		if round == 2 {
			list.Repositories[2].Packages = []string{"a@3"}
		}
		m, err := Build(context.Background(), list, opts)
		if err == nil || !strings.Contains(err.Error(), "build bad: fetch broken@1: not served") {
			t.Fatalf("round %d: %v, want the failure of bad", round, err)
		}
		if len(m.Set("mixed")) != 2 || served != want {
			t.Errorf("round %d: %d repositories after %d downloads, want 2 after %d", round, len(m.Set("mixed")), served, want)
		}
	}
	if data, err := os.ReadFile(filepath.Join(TreePath(out, "one"), "b", "f")); err != nil || string(data) != "b1" {
		t.Errorf("second package: %q %v", data, err)
	}
	opts.MinFreeBytes = 1 << 62
	list.Repositories[0].Packages = []string{"a@9"}
	if _, err := Build(context.Background(), list, opts); !errors.Is(err, ErrDiskSpace) {
		t.Errorf("full disk: %v, want ErrDiskSpace", err)
	}
}

func writeTestFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
