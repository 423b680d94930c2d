package corpus

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

// These are the bounds of the files of a Tree.
const (
	// maxCopiedBytes excludes files that are data rather than source.
	maxCopiedBytes = 512 << 10
	// commonShare defines common words, which stay the same in all copies: more than
	// 1/commonShare of the files contain them.
	commonShare = 500
	// minCommonFiles is the lower bound of that number of files, for small trees.
	minCommonFiles = 8
	// minWordBytes is the minimum length of identifiers that are renamed.
	minWordBytes = 4
)

// Tree is a folder of sources. Its copies share no rare word, so that nothing in them is
// deduplicated: a copy renames every identifier of at least four letters that few files
// contain. Words that many files contain stay, so that the copies have the trigrams, the
// languages and the symbols of the original.
type Tree struct {
	files []copiedFile
	// frequency is the number of files that contain a word, names the number of files
	// with a name. In more than common files, they stay.
	frequency, names map[string]int
	common           int
}

type copiedFile struct {
	path    string
	content []byte
}

var wordPattern = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*|[0-9][A-Za-z0-9_]*`)

// ReadTree reads the text files below dir into memory, in the order of their paths.
func ReadTree(dir string) (*Tree, error) {
	t := &Tree{frequency: map[string]int{}, names: map[string]int{}}
	listed, err := listFiles(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range listed {
		if f.size > maxCopiedBytes || f.mode == "120000" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.path)))
		if err != nil {
			return nil, err
		}
		if bytes.IndexByte(content, 0) >= 0 || !utf8.Valid(content) {
			continue
		}
		t.files = append(t.files, copiedFile{f.path, content})
		t.names[path.Base(f.path)]++
		seen := map[string]bool{}
		for _, at := range wordPattern.FindAllIndex(content, -1) {
			if word := content[at[0]:at[1]]; isRenamed(word) && !seen[string(word)] {
				seen[string(word)] = true
				t.frequency[string(word)]++
			}
		}
	}
	if len(t.files) == 0 {
		return nil, fmt.Errorf("no text files below %s", dir)
	}
	t.common = max(len(t.files)/commonShare, minCommonFiles)
	return t, nil
}

// isRenamed reports whether a word is an identifier of a length that copies rename.
// Letters after a number are not an identifier.
func isRenamed(word []byte) bool {
	return len(word) >= minWordBytes && (word[0] < '0' || word[0] > '9')
}

// Files returns the number of files, and Bytes their size.
func (t *Tree) Files() int { return len(t.files) }

// Bytes returns the size of all files.
func (t *Tree) Bytes() (n int64) {
	for _, f := range t.files {
		n += int64(len(f.content))
	}
	return n
}

// Part returns a tree of the files [from, to), whose copies rename the same words.
func (t *Tree) Part(from, to int) *Tree {
	part := *t
	part.files = t.files[from:to]
	return &part
}

// WriteFiles writes the files below a folder.
func (t *Tree) WriteFiles(dir string) error {
	for _, f := range t.files {
		path := filepath.Join(dir, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// WriteCopy creates the bare repository dir of copy n, where 0 is the original, and
// returns the size of its text.
func (t *Tree) WriteCopy(ctx context.Context, dir string, n int) (textBytes int64, err error) {
	err = WriteRepository(ctx, dir, func(c *Commits) {
		c.Begin("all")
		for _, f := range t.files {
			content := t.renameWords(f.content, n)
			textBytes += int64(len(content))
			c.File(t.renamePath(f.path, n), content)
		}
	})
	return textBytes, err
}

// renameWords returns the content of a file in a copy. It inserts the letters of the copy
// into the middle of each rare identifier, so that no word of one copy is part of a word
// of another. A file without a rare identifier gets the letters as its last line.
func (t *Tree) renameWords(content []byte, copy int) []byte {
	if copy == 0 {
		return content
	}
	mark := copyMark(copy)
	out := wordPattern.ReplaceAllFunc(content, func(word []byte) []byte {
		if !isRenamed(word) || t.frequency[string(word)] >= t.common {
			return word
		}
		middle := len(word) / 2
		return append(append(append([]byte(nil), word[:middle]...), mark...), word[middle:]...)
	})
	if len(out) == len(content) {
		out = append(append(out, '\n'), append(mark, '\n')...)
	}
	return out
}

// renamePath renames a path in the same way if few files have its name.
func (t *Tree) renamePath(name string, copy int) string {
	stem, _, _ := strings.Cut(path.Base(name), ".")
	if copy == 0 || len(stem) < minWordBytes || t.names[path.Base(name)] >= t.common {
		return name
	}
	middle := len(name) - len(path.Base(name)) + len(stem)/2
	return name[:middle] + string(copyMark(copy)) + name[middle:]
}

// copyMark returns the letters of a copy, at least two. Copies count from 1.
func copyMark(copy int) []byte {
	return []byte{'q' + byte(copy%7), 'a' + byte(copy/7%26), 'j' + byte(copy/182%10)}
}
