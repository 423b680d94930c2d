package corpus

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writeTree writes n files that share words and have one unique word each, and reads
// them.
func writeTree(t *testing.T, n int) (string, *Tree) {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		text := fmt.Sprintf("package shared\n\nfunc onlyInFile%03dHere() error { return commonEverywhere }\n%s", i, strings.Repeat("// some more text of an ordinary file\n", 120))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("source_file_%c%c.go", 'a'+i/26, 'a'+i%26)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "image"), []byte("a\x00b"), 0o644); err != nil {
		t.Fatal(err)
	}
	tree, err := ReadTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	if tree.Files() != n {
		t.Fatalf("%d files, want %d: binary files are left out", tree.Files(), n)
	}
	return dir, tree
}

func TestCopiesShareCommonWordsOnly(t *testing.T) {
	_, tree := writeTree(t, 30)
	original := tree.files[0].content
	if !bytes.Equal(tree.renameWords(original, 0), original) {
		t.Error("copy 0 is not the original")
	}
	seen := map[string]int{}
	for copy := range 2000 {
		text := tree.renameWords(original, copy)
		if copy > 0 && bytes.Contains(text, []byte("onlyInFile000Here")) {
			t.Fatalf("copy %d has a rare word of the original", copy)
		}
		if !bytes.Contains(text, []byte("commonEverywhere")) || !bytes.Contains(text, []byte("return")) {
			t.Fatalf("copy %d lacks a common word", copy)
		}
		if copy < 1820 {
			if other, ok := seen[string(text)]; ok {
				t.Fatalf("copies %d and %d are equal", other, copy)
			}
			seen[string(text)] = copy
		}
		if path := tree.renamePath(tree.files[0].path, copy); copy > 0 && path == tree.files[0].path {
			t.Fatalf("copy %d has a path of the original", copy)
		}
	}
}

func TestFilesWithoutRareWordsDifferBetweenCopies(t *testing.T) {
	_, tree := writeTree(t, 30)
	text := []byte("return 1\n")
	if a, c := tree.renameWords(text, 1), tree.renameWords(text, 2); bytes.Equal(a, text) || bytes.Equal(a, c) {
		t.Errorf("%q and %q", a, c)
	}
}

// TestPushSeries checks that each push has its parent and its word, and that the branch
// can be moved to it.
func TestPushSeries(t *testing.T) {
	dir, tree := writeTree(t, 20)
	bare := filepath.Join(t.TempDir(), "bare.git")
	if _, err := tree.WriteCopy(t.Context(), bare, 0); err != nil {
		t.Fatal(err)
	}
	s, err := PreparePushSeries(t.Context(), filepath.Join(t.TempDir(), "pushed.git"), bare, dir, 27)
	if err != nil || len(s.Commits) != 27 || len(s.Words) != 27 || s.ChangedBytes == 0 || s.Parent(0) != s.Before || s.Parent(3) != s.Commits[2] {
		t.Fatalf("%+v, %v", s, err)
	}
	if err := Move(s.Dir, s.Commits[3]); err != nil {
		t.Fatal(err)
	}
	if ids, err := History(t.Context(), s.Dir, "refs/heads/"+Branch); err != nil || !slices.Equal(ids, append([]string{s.Before}, s.Commits[:4]...)) {
		t.Errorf("the branch has %v, %v after a move to %v", ids, err, s.Commits[:4])
	}
}
