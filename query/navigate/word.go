package navigate

import (
	"bytes"
	"regexp"
	"unicode"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/query/search"
)

// wholeWord returns a regular expression for name that cannot match less than whole
// words. RE2's \b knows only ASCII words, and is wrong next to a name that ends in a
// symbol, so it is used only where it is correct; inWord drops the other matches.
func wholeWord(name string) string {
	first, _ := utf8.DecodeRuneInString(name)
	last, _ := utf8.DecodeLastRuneInString(name)
	pattern := regexp.QuoteMeta(name)
	if isASCIIWord(first) {
		pattern = `\b` + pattern
	}
	if isASCIIWord(last) {
		pattern += `\b`
	}
	return pattern
}

func isASCIIWord(r rune) bool { return r < utf8.RuneSelf && isWord(r) }

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// inWord reports whether the word around content[start:end] continues on either side.
func inWord(content []byte, start, end int) bool {
	first, _ := utf8.DecodeRune(content[start:end])
	last, _ := utf8.DecodeLastRune(content[start:end])
	before, n := utf8.DecodeLastRune(content[:start])
	after, m := utf8.DecodeRune(content[end:])
	return n > 0 && isWord(first) && isWord(before) || m > 0 && isWord(last) && isWord(after)
}

// hasWord reports whether name is a whole word somewhere in content[start:end]. The range
// of a definition is that of the symbol, which may be longer than name.
func hasWord(content []byte, start, end int, name string) bool {
	for at := start; at < end; {
		i := bytes.Index(content[at:end], []byte(name))
		if i < 0 {
			return false
		}
		at += i
		if !inWord(content, at, at+len(name)) {
			return true
		}
		at++
	}
	return false
}

// newResult turns a search's chunks into the matches that keep accepts. keep receives the
// content of a chunk and the place of the match in it.
func newResult(found *search.Result, keep func(content []byte, start, end int) bool) *Result {
	out := &Result{Exhaustive: found.Exhaustive}
	for i := range found.Files {
		f := newFile(&found.Files[i], keep)
		if len(f.Matches) > 0 {
			out.Files = append(out.Files, f)
			out.Matches += len(f.Matches)
		}
	}
	return out
}

func newFile(m *search.FileMatch, keep func(content []byte, start, end int) bool) File {
	f := File{Repo: m.Repo, Ref: m.Ref, Path: m.Path, Language: m.Language}
	for i := range m.Chunks {
		c := &m.Chunks[i]
		for k, r := range c.Ranges {
			start, end := r.Start.ByteOffset-c.Start.ByteOffset, r.End.ByteOffset-c.Start.ByteOffset
			if start < 0 || end > len(c.Content) || !keep(c.Content, start, end) {
				continue
			}
			match := Match{Line: lineAround(c.Content, start, end), Range: r}
			if len(c.Symbols) > 0 {
				match.Symbol = c.Symbols[k]
			}
			f.Matches = append(f.Matches, match)
		}
	}
	return f
}

// lineAround returns the lines of content that contain [start, end), with the line end.
func lineAround(content []byte, start, end int) []byte {
	from := bytes.LastIndexByte(content[:start], '\n') + 1
	if i := bytes.IndexByte(content[end-1:], '\n'); i >= 0 {
		return content[from : end+i]
	}
	return content[from:]
}
