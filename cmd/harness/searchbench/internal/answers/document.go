package answers

import (
	"fmt"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"
)

var plainWord = regexp.MustCompile(`[A-Za-z]{4,}`)

// commonWords are words that do not describe the subject of a comment.
var commonWords = map[string]bool{
	"this": true, "that": true, "with": true, "from": true, "have": true, "which": true, "when": true, "then": true, "will": true, "must": true,
	"should": true, "would": true, "could": true, "their": true, "there": true, "they": true, "been": true, "into": true, "only": true, "also": true,
	"return": true, "returns": true, "function": true, "method": true, "value": true, "used": true, "more": true, "than": true, "does": true, "each": true,
}

// Described draws words from the comment above a definition.
func Described(sources Sources) Family {
	return Family{"words of a comment", func(r *rand.Rand) (Task, bool) {
		source, file, lines := sources.drawFile(r)
		if path.Ext(file) != ".go" {
			return Task{}, false
		}
		n := r.IntN(len(lines))
		d, ok := definitionAt(file, lines[n])
		if !ok {
			return Task{}, false
		}
		first := n
		for first > 0 && strings.HasPrefix(lines[first-1], "// ") {
			first--
		}
		var words []string
		for _, line := range lines[first:n] {
			for _, w := range plainWord.FindAllString(line, -1) {
				if w = strings.ToLower(w); !commonWords[w] && !slices.Contains(words, w) && !strings.EqualFold(w, d.name) {
					words = append(words, w)
				}
			}
		}
		if len(words) < 6 {
			return Task{}, false
		}
		size := 3 + r.IntN(3)
		at := r.IntN(len(words) - size + 1)
		t := Task{Text: strings.Join(words[at:at+size], " "), Variant: fmt.Sprintf("%d words", size), From: fmt.Sprintf("%s:%s:%d", source.Name, file, n+1)}
		t.Right = func(l Line) bool {
			return l.Repository == source.Name && l.Path == file && l.Number > first && l.Number <= n+1
		}
		return t, true
	}}
}

// Abbreviated draws file names with omitted letters, for the file finder.
func Abbreviated(sources Sources) Family {
	return Family{"abbreviated file name", func(r *rand.Rand) (Task, bool) {
		source, file, _ := sources.drawFile(r)
		base := path.Base(file)
		stem := strings.TrimSuffix(base, path.Ext(base))
		if len(stem) < 8 {
			return Task{}, false
		}
		t := Task{Files: true, From: source.Name + ":" + file}
		t.Right = func(l Line) bool { return path.Base(l.Path) == base }
		if r.IntN(2) == 0 {
			t.Text, t.Variant = withoutLetters(r, stem), "a third of the letters left out"
			return t, len(t.Text) >= 5
		}
		// Take some first letters of the folder and of each word of the name.
		folder := path.Base(path.Dir(file))
		words := wordsOf(stem)
		if folder == "." || len(words) < 2 {
			return Task{}, false
		}
		t.Variant = "beginnings of the folder and the words"
		for _, w := range append([]string{folder}, words...) {
			t.Text += strings.ToLower(w[:min(len(w), 2+r.IntN(2))])
		}
		t.Right = func(l Line) bool { return path.Base(l.Path) == base && path.Base(path.Dir(l.Path)) == folder }
		return t, len(t.Text) >= 6
	}}
}

// withoutLetters omits each letter, except for the first, with a probability of one
// third.
func withoutLetters(r *rand.Rand, name string) string {
	var b strings.Builder
	for i := range len(name) {
		if i == 0 || r.IntN(3) > 0 {
			b.WriteByte(name[i])
		}
	}
	return strings.ToLower(b.String())
}
