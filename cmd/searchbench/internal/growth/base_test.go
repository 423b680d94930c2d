package growth

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeTree writes n files that share words and have one unique word each, and reads
// them.
func writeTree(t *testing.T, n int) *base {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		text := fmt.Sprintf("package shared\n\nfunc onlyInFile%03dHere() error { return commonEverywhere }\n%s", i, strings.Repeat("// some more text\n", 120))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("source_file_%c%c.go", 'a'+i/26, 'a'+i%26)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "image"), []byte("a\x00b"), 0o644); err != nil {
		t.Fatal(err)
	}
	b, err := readBase(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.files) != n {
		t.Fatalf("%d files, want %d: binary files are left out", len(b.files), n)
	}
	return b
}

func TestCopiesShareCommonWordsOnly(t *testing.T) {
	b := writeTree(t, 30)
	original := b.files[0].content
	if !bytes.Equal(b.renameWords(original, 0), original) {
		t.Error("copy 0 is not the original")
	}
	seen := map[string]int{}
	for copy := range 2000 {
		text := b.renameWords(original, copy)
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
		if path := b.renamePath(b.files[0].path, copy); copy > 0 && path == b.files[0].path {
			t.Fatalf("copy %d has a path of the original", copy)
		}
	}
}

func TestFilesWithoutRareWordsDifferBetweenCopies(t *testing.T) {
	b := writeTree(t, 30)
	text := []byte("return 1\n")
	if a, c := b.renameWords(text, 1), b.renameWords(text, 2); bytes.Equal(a, text) || bytes.Equal(a, c) {
		t.Errorf("%q and %q", a, c)
	}
}

func TestQuestionsNameWhatOneFileHas(t *testing.T) {
	for _, k := range writeTree(t, 30).chooseQuestions() {
		if len(k.requests) == 0 {
			t.Errorf("%s: no questions", k.name)
		}
	}
}

func TestSmallRepositoriesAreCutFromCopies(t *testing.T) {
	b := writeTree(t, 50)
	cut := cutter{base: b}
	seen := map[string]bool{}
	for n := range 40 {
		files, copy := cut.nextFiles(n)
		if len(files) < minSmallFiles || len(files) >= minSmallFiles+smallSpread {
			t.Fatalf("repository %d has %d files", n, len(files))
		}
		for _, f := range files {
			text := string(b.renameWords(f.content, copy))
			if seen[text] {
				t.Fatalf("repository %d repeats a document", n)
			}
			seen[text] = true
		}
	}
	if n := len(cut.takenFiles(1)); n != minSmallFiles {
		t.Errorf("the first repository took %d files", n)
	}
}
