package server

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/projections/segment"
)

// filesWith returns the files below a directory that contain a word, as relative paths.
// It searches their bytes, the text of segments, and the objects of git repositories.
// Files may appear and disappear while it runs.
func filesWith(t *testing.T, dir, word string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		has := false
		switch {
		case d.IsDir():
			has = isGitDirectory(path) && gitHolds(path, word)
		case d.Type().IsRegular():
			has = fileHolds(path, word)
		}
		if has {
			relative, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			found = append(found, relative)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func fileHolds(path, word string) bool {
	raw, err := os.ReadFile(path)
	if err != nil {
		return false // the file has disappeared
	}
	return bytes.Contains(raw, []byte(word)) || segmentHolds(path, word)
}

// segmentHolds reports whether the file is a segment whose text contains the word.
func segmentHolds(path, word string) bool {
	cache := segment.NewCache(1 << 20)
	defer cache.Close()
	file, err := segment.OpenFile(path, cache)
	if err != nil {
		return false
	}
	defer file.Close()
	for d := range file.Documents() {
		if text, err := file.Text(segment.DocID(d), nil); err == nil && bytes.Contains(text, []byte(word)) {
			return true
		}
	}
	return false
}

func isGitDirectory(path string) bool {
	_, err := os.Stat(filepath.Join(path, "objects"))
	return err == nil
}

// gitHolds reports whether any object of a repository contains the word, even if no ref
// reaches it.
func gitHolds(dir, word string) bool {
	out, _ := exec.Command("git", "--git-dir="+dir, "-c", "safe.directory=*", "cat-file", "--batch-all-objects", "--batch", "--unordered").Output()
	return bytes.Contains(out, []byte(word))
}

// firstElements returns the distinct first elements of paths.
func firstElements(paths []string) string {
	var names []string
	for _, p := range paths {
		name, _, _ := strings.Cut(p, string(filepath.Separator))
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}
