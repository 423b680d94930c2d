package diffhtml

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// Bounds of the comparison of words.
const (
	maxPairBytes = 2000 // of a line
	maxPairs     = 500  // lines of a run
	// maxWork bounds the work for the lines of one page: a pair of lines that have nothing in common
	// takes the product of their numbers of words. Past it, lines are shown as wholly changed.
	maxWork = 50_000_000
	// minCommonShare is how much of two lines must be equal, in percent, for their words
	// to be compared: lines with little in common are shown as wholly changed.
	minCommonShare = 35
)

// Words is the work that was done for the words of one page.
type Words struct{ work int }

// piece is a part of a line.
type piece struct {
	text    string
	changed bool
}

// markWords pairs the lines of both sides in order, and finds the words that differ in
// each pair.
func (w *Words) markWords(old, new []string) (removed, added [][]piece) {
	removed, added = wholeLines(old), wholeLines(new)
	if len(old) != len(new) || len(old) > maxPairs {
		return removed, added
	}
	for i := range old {
		if a, b, ok := w.compareWords(old[i], new[i]); ok {
			removed[i], added[i] = a, b
		}
	}
	return removed, added
}

func wholeLines(lines []string) [][]piece {
	out := make([][]piece, len(lines))
	for i, line := range lines {
		out[i] = []piece{{text: line}}
	}
	return out
}

// compareWords splits both lines into pieces; ok is false if they have too little in
// common.
func (w *Words) compareWords(old, new string) (removed, added []piece, ok bool) {
	if len(old) > maxPairBytes || len(new) > maxPairBytes {
		return nil, nil, false
	}
	table := wordTable{ids: map[string]rune{}}
	oldWords, newWords := table.encode(old), table.encode(new)
	if w.work += len(oldWords) * len(newWords); w.work > maxWork {
		return nil, nil, false
	}
	differ := diffmatchpatch.New()
	differ.DiffTimeout = 0 // bounded by maxPairBytes: the result must not depend on the machine
	common, total := 0, 0
	for _, d := range differ.DiffMainRunes(oldWords, newWords, false) {
		text := table.decode(d.Text)
		visible := len(strings.TrimSpace(text))
		total += visible
		switch d.Type {
		case diffmatchpatch.DiffEqual:
			total += visible
			common += 2 * visible
			removed, added = append(removed, piece{text: text}), append(added, piece{text: text})
		case diffmatchpatch.DiffDelete:
			removed = append(removed, piece{text, true})
		case diffmatchpatch.DiffInsert:
			added = append(added, piece{text, true})
		}
	}
	return removed, added, total == 0 || common*100 >= total*minCommonShare
}

// wordTable assigns each word a character, so that lines can be compared by words.
type wordTable struct {
	ids   map[string]rune
	words []string
}

// firstWord is the first of the private-use characters that represent words: there are
// more of them than words in any line.
const firstWord = 0xF0000

func (t *wordTable) encode(line string) []rune {
	var out []rune
	for line != "" {
		n := wordEnd(line)
		word := line[:n]
		id, ok := t.ids[word]
		if !ok {
			id = rune(firstWord + len(t.words))
			t.ids[word], t.words = id, append(t.words, word)
		}
		out, line = append(out, id), line[n:]
	}
	return out
}

func (t *wordTable) decode(encoded string) string {
	var b strings.Builder
	for _, id := range encoded {
		b.WriteString(t.words[id-firstWord])
	}
	return b.String()
}

// wordEnd returns the length in bytes of the first word: letters and digits, blanks, or
// one other character.
func wordEnd(line string) int {
	first, size := utf8.DecodeRuneInString(line)
	kind := wordKind(first)
	if kind == 0 {
		return size
	}
	for i, r := range line {
		if wordKind(r) != kind {
			return i
		}
	}
	return len(line)
}

func wordKind(r rune) int {
	switch {
	case r == utf8.RuneError:
		return 0
	case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
		return 1
	case unicode.IsSpace(r):
		return 2
	}
	return 0
}
