package growth

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// These are the bounds of the files that are taken from a tree.
const (
	// maxFileBytes excludes files that are data rather than source.
	maxFileBytes = 512 << 10
	// commonShare defines common words, which stay the same in all copies: more than
	// 1/commonShare of the files contain them.
	commonShare = 500
	// minCommonFiles is the lower bound of that number of files, for small trees.
	minCommonFiles = 8
	// minWordBytes is the minimum length of identifiers that are renamed.
	minWordBytes = 4
)

// file is one text file of the tree.
type file struct {
	path    string
	content []byte
}

// base is the tree from which everything is derived.
type base struct {
	files []file
	bytes int64
	// frequency is the number of files that contain a word. It contains only identifiers
	// of at least minWordBytes.
	frequency map[string]int
	// names is the number of files with a name, in any folder.
	names  map[string]int
	common int
}

// wordPattern matches an identifier.
var wordPattern = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// readBase reads the text files below dir, in the order of their paths.
func readBase(dir string) (*base, error) {
	b := &base{frequency: map[string]int{}, names: map[string]int{}}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil || len(content) > maxFileBytes || bytes.IndexByte(content, 0) >= 0 || !utf8.Valid(content) {
			return err
		}
		relative, err := filepath.Rel(dir, name)
		b.files = append(b.files, file{filepath.ToSlash(relative), content})
		b.bytes += int64(len(content))
		return err
	})
	if err == nil && len(b.files) == 0 {
		err = fmt.Errorf("no text files below %s", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("read the tree to measure with: %w", err)
	}
	b.countWords()
	return b, nil
}

// countWords fills in frequency.
func (b *base) countWords() {
	for _, f := range b.files {
		b.names[path.Base(f.path)]++
		seen := map[string]bool{}
		eachWord(f.content, func(from, to int) {
			if word := f.content[from:to]; to-from >= minWordBytes && !seen[string(word)] {
				seen[string(word)] = true
				b.frequency[string(word)]++
			}
		})
	}
	b.common = max(len(b.files)/commonShare, minCommonFiles)
}

// eachWord calls f for each identifier of text.
func eachWord(text []byte, f func(from, to int)) {
	for i := 0; i < len(text); {
		if !isLetter(text[i]) {
			// Letters after a number are not an identifier.
			digit := text[i] >= '0' && text[i] <= '9'
			for i++; digit && i < len(text) && isWordByte(text[i]); i++ {
			}
			continue
		}
		from := i
		for i++; i < len(text) && isWordByte(text[i]); i++ {
		}
		f(from, i)
	}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

func isWordByte(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' }

// renameWords returns the content of a file in a copy; copy 0 is the original. It inserts
// the letters of the copy into the middle of each rare identifier, so that no word of one
// copy is part of a word of another. A file without a rare identifier gets the letters as
// its last line.
func (b *base) renameWords(content []byte, copy int) []byte {
	if copy == 0 {
		return content
	}
	mark := copyMark(copy)
	out := make([]byte, 0, len(content)+len(content)/8)
	at := 0
	eachWord(content, func(from, to int) {
		if to-from < minWordBytes || b.frequency[string(content[from:to])] >= b.common {
			return
		}
		middle := (from + to) / 2
		out = append(append(out, content[at:middle]...), mark...)
		at = middle
	})
	out = append(out, content[at:]...)
	if at == 0 {
		out = append(append(out, '\n'), append(mark, '\n')...)
	}
	return out
}

// renamePath renames a path in the same way if few files have its name.
func (b *base) renamePath(name string, copy int) string {
	stem, _, _ := strings.Cut(path.Base(name), ".")
	if copy == 0 || len(stem) < minWordBytes || b.names[path.Base(name)] >= b.common {
		return name
	}
	middle := len(name) - len(path.Base(name)) + len(stem)/2
	return name[:middle] + string(copyMark(copy)) + name[middle:]
}

// copyMark returns the letters of a copy, at least two. Copies count from 1.
func copyMark(copy int) []byte {
	return []byte{'q' + byte(copy%7), 'a' + byte(copy/7%26), 'j' + byte(copy/182%10)}
}

// maxLine is the line length above which a file counts as data. Its words are not
// queried.
const maxLine = 400

func isSource(f *file) bool {
	for line := range bytes.Lines(f.content) {
		if len(line) > maxLine {
			return false
		}
	}
	return true
}

// rareWords returns n identifiers of 10 to 24 bytes that occur in one source file only,
// spread over the tree. accept returns a filter on the words of a file.
func (b *base) rareWords(n int, accept func(f *file) func(word string) bool) []string {
	var all []string
	for i := range b.files {
		f := &b.files[i]
		if !isSource(f) {
			continue
		}
		accepted := accept(f)
		eachWord(f.content, func(from, to int) {
			if word := f.content[from:to]; to-from >= 10 && to-from <= 24 && b.frequency[string(word)] == 1 && accepted(string(word)) {
				all = append(all, string(word))
			}
		})
	}
	slices.Sort(all)
	return pickEvenly(slices.Compact(all), n)
}

// pickEvenly returns n elements of all, at equal distances.
func pickEvenly[E any](all []E, n int) []E {
	if len(all) <= n {
		return all
	}
	out := make([]E, n)
	for i := range out {
		out[i] = all[(2*i+1)*len(all)/(2*n)]
	}
	return out
}
