package random

import (
	"path"
	"regexp"
	"strings"
	"unicode"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/schemas/code"
)

// term is a drawn query without filters.
type term struct {
	text string
	from *file // the file from which it was drawn
	// alternatives is set if text must be put in parentheses next to a filter.
	alternatives bool
}

func (t term) withGroup() string {
	if t.alternatives {
		return "(" + t.text + ")"
	}
	return t.text
}

// family is a way to make queries.
type family struct {
	name     string
	filtered bool // whether a filter may be added
	draw     func(d *drawer) term
}

// matchExpression returns a query for a regular expression.
func matchExpression(f *file, re string) term {
	if re == "" {
		return term{}
	}
	return term{text: quoteToken(re), from: f}
}

// RareIdentifier is the family of identifiers that occur a few times.
const RareIdentifier = "identifier, rare"

// families contains every family. Those of identifiers cover the deciles of frequency.
var families = []family{
	{"identifier, common", true, func(d *drawer) term { return d.drawIdentifier(0, 3) }},
	{"identifier, middle", true, func(d *drawer) term { return d.drawIdentifier(3, 7) }},
	{RareIdentifier, true, func(d *drawer) term { return d.drawIdentifier(7, deciles) }},
	{"phrase", true, (*drawer).drawPhrase},
	{"across tokens", true, (*drawer).drawAcross},
	{"1-3 characters", true, (*drawer).drawShort},
	{"case-sensitive word", true, func(d *drawer) term {
		f, w := d.drawWord(4)
		return addPrefix("case:yes ", w, f)
	}},
	{"other case", true, func(d *drawer) term {
		f, w := d.drawWord(4)
		return addPrefix("case:no ", swapCase(w), f)
	}},
	{"two words", true, func(d *drawer) term {
		f, a, b := d.drawTwoWords()
		return joinWords(a, b, " ", f)
	}},
	{"word and not word", true, func(d *drawer) term {
		f, a := d.drawWord(4)
		_, b := d.drawWord(4)
		return joinWords(a, b, " -", f)
	}},
	{"word or word", true, func(d *drawer) term {
		f, a := d.drawWord(4)
		_, b := d.drawWord(4)
		t := joinWords(a, b, " or ", f)
		t.alternatives = true
		return t
	}},
	{"gap", true, func(d *drawer) term {
		f, _, line := d.drawLine(12)
		words := wordPattern.FindAllString(line, -1)
		if len(words) < 3 || len(words[0]) < 3 || len(words[len(words)-1]) < 3 {
			return term{}
		}
		return matchExpression(f, words[0]+".*"+words[len(words)-1])
	}},
	{"alternation", true, (*drawer).drawAlternation},
	{"class", true, (*drawer).drawClass},
	{"anchor", true, (*drawer).drawAnchored},
	{"(?i)", true, func(d *drawer) term {
		// zoekt takes the folded literal for one with capitals, which it matches in their
		// case unless case:no is written.
		f, w := d.drawWord(4)
		return addPrefix("case:no ", matchExpression(f, joinParts("(?i)", w)).text, f)
	}},
	{"word borders", true, func(d *drawer) term {
		f, w := d.drawWord(3)
		return matchExpression(f, joinParts(`\b`, w, `\b`))
	}},
	{"lines", true, (*drawer).drawLines},
	{"symbol, exact", false, func(d *drawer) term {
		f, name := d.drawSymbol()
		return addPrefix("sym:", joinParts("^", name, "$"), f)
	}},
	{"symbol, prefix", false, func(d *drawer) term {
		f, name := d.drawSymbol()
		return addPrefix("sym:", joinParts("^", name[:min(len(name), 4+d.r.IntN(4))]), f)
	}},
	{"symbol, expression", false, func(d *drawer) term {
		f, name := d.drawSymbol()
		if len(name) < 7 {
			return term{}
		}
		return addPrefix("sym:", name[:3]+".*"+name[len(name)-3:], f)
	}},
	{"path", false, func(d *drawer) term {
		f := d.drawFile()
		return addPrefix("type:file ", fileStem(f.path), f)
	}},
	{"absent word", true, func(d *drawer) term { return term{text: d.inventWord(), from: d.drawFile()} }},
}

// addPrefix returns a query of one term with a prefix, or none without the term.
func addPrefix(prefix, word string, f *file) term {
	if word == "" {
		return term{}
	}
	return term{text: prefix + word, from: f}
}

// joinWords returns a query of two different words.
func joinWords(a, b, separator string, f *file) term {
	if a == "" || b == "" || strings.EqualFold(a, b) {
		return term{}
	}
	return term{text: a + separator + b, from: f}
}

// joinParts concatenates the parts of an expression, unless the second one, which is drawn
// from text, is empty.
func joinParts(parts ...string) string {
	if parts[1] == "" {
		return ""
	}
	return strings.Join(parts, "")
}

// drawIdentifier draws from the deciles [from, to).
func (d *drawer) drawIdentifier(from, to int) term {
	words := d.words[from+d.r.IntN(to-from)]
	if len(words) == 0 {
		return term{}
	}
	return term{text: quoteToken(words[d.r.IntN(len(words))]), from: d.drawFile()}
}

var tokenPattern = regexp.MustCompile(`[A-Za-z0-9_]+|[^A-Za-z0-9_\s]`)

// drawPhrase draws two to six consecutive tokens of a line.
func (d *drawer) drawPhrase() term {
	f, _, line := d.drawLine(6)
	tokens := tokenPattern.FindAllStringIndex(line, -1)
	n := 2 + d.r.IntN(5)
	if len(tokens) < n {
		return term{}
	}
	first := d.r.IntN(len(tokens) - n + 1)
	phrase := line[tokens[first][0]:tokens[first+n-1][1]]
	if len(phrase) < 5 || wordPattern.FindString(phrase) == "" {
		return term{}
	}
	return matchExpression(f, regexp.QuoteMeta(phrase))
}

var acrossPattern = regexp.MustCompile(`[A-Za-z0-9_][^A-Za-z0-9_]{1,3}[A-Za-z0-9_]`)

// drawAcross draws a piece of a line that begins and ends within different tokens.
func (d *drawer) drawAcross() term {
	f, _, line := d.drawLine(8)
	borders := acrossPattern.FindAllStringIndex(line, -1)
	if len(borders) == 0 {
		return term{}
	}
	b := borders[d.r.IntN(len(borders))]
	start, end := max(0, b[0]-d.r.IntN(5)), min(len(line), b[1]+d.r.IntN(5))
	piece := strings.TrimSpace(line[start:end])
	if len(piece) < 4 {
		return term{}
	}
	return matchExpression(f, regexp.QuoteMeta(piece))
}

// drawShort draws one to three characters.
func (d *drawer) drawShort() term {
	f, _, line := d.drawLine(3)
	n := 1 + d.r.IntN(3)
	if len(line) < n {
		return term{}
	}
	start := d.r.IntN(len(line) - n + 1)
	piece := line[start : start+n]
	if strings.Contains(piece, " ") {
		return term{}
	}
	return matchExpression(f, regexp.QuoteMeta(piece))
}

// drawTwoWords draws two words of one file.
func (d *drawer) drawTwoWords() (*file, string, string) {
	f := d.drawFile()
	pick := func() string {
		words := wordPattern.FindAllString(f.lines[d.r.IntN(len(f.lines))], -1)
		if len(words) == 0 {
			return ""
		}
		if w := words[d.r.IntN(len(words))]; len(w) >= 4 && len(w) <= maxWordBytes {
			return w
		}
		return ""
	}
	return f, pick(), pick()
}

// drawAlternation draws two to four alternative words.
func (d *drawer) drawAlternation() term {
	f, w := d.drawWord(4)
	words := []string{w}
	for range 1 + d.r.IntN(3) {
		_, w := d.drawWord(4)
		words = append(words, w)
	}
	for _, w := range words {
		if w == "" {
			return term{}
		}
	}
	return matchExpression(f, "("+strings.Join(words, "|")+")")
}

// drawClass replaces the middle of a word, or its digits, with a class.
func (d *drawer) drawClass() term {
	f, w := d.drawWord(6)
	if w == "" {
		return term{}
	}
	if i := strings.IndexAny(w, "0123456789"); i >= 3 {
		return matchExpression(f, w[:i]+"[0-9]+")
	}
	prefix := w[:3+d.r.IntN(2)]
	if d.r.IntN(2) == 0 {
		return matchExpression(f, prefix+`[A-Za-z0-9_]+\(`)
	}
	return matchExpression(f, prefix+"[a-z_]*"+w[len(w)-2:])
}

// drawAnchored draws the beginning or the end of a line.
func (d *drawer) drawAnchored() term {
	f, _, line := d.drawLine(8)
	words := wordPattern.FindAllStringIndex(line, -1)
	if len(words) == 0 {
		return term{}
	}
	if first := line[:words[0][1]]; d.r.IntN(2) == 0 && len(first) >= 4 {
		return matchExpression(f, `^\s*`+regexp.QuoteMeta(first)+`\b`)
	}
	if last := line[words[len(words)-1][0]:]; len(last) >= 4 {
		return matchExpression(f, regexp.QuoteMeta(last)+"$")
	}
	return term{}
}

// drawLines draws the last word of a line with the first one of the next line.
func (d *drawer) drawLines() term {
	f, n, line := d.drawLine(6)
	if n+1 >= len(f.lines) || line == "" {
		return term{}
	}
	next := strings.TrimSpace(f.lines[n+1])
	end, start := tokenPattern.FindAllString(line, -1), tokenPattern.FindString(next)
	if len(end) == 0 || start == "" || !isPrintable(next) || len(end[len(end)-1])+len(start) < 5 {
		return term{}
	}
	return matchExpression(f, regexp.QuoteMeta(end[len(end)-1])+`\n\s*`+regexp.QuoteMeta(start))
}

// languages holds the languages whose symbols are drawn, by extension.
var languages = map[string]code.Language{
	".go": "Go", ".c": "C", ".h": "C", ".py": "Python", ".java": "Java", ".rs": "Rust", ".ts": "TypeScript", ".js": "JavaScript",
}

// drawSymbol draws the name of a definition.
func (d *drawer) drawSymbol() (*file, string) {
	f := d.drawFile()
	language, ok := languages[path.Ext(f.path)]
	if !ok {
		return f, ""
	}
	definitions, _ := analyze.Outline{}.Describe(language, []byte(strings.Join(f.lines, "\n"))) // those found in time
	if len(definitions) == 0 {
		return f, ""
	}
	name := definitions[d.r.IntN(len(definitions))].Name
	if len(name) < minWordBytes || wordPattern.FindString(name) != name {
		return f, ""
	}
	return f, name
}

// inventWord returns a word of syllables that the sample does not contain.
func (d *drawer) inventWord() string {
	const consonants, vowels = "bdfgjklmnprstvwxz", "aeiou"
	var b strings.Builder
	for range 5 + d.r.IntN(2) {
		b.WriteByte(consonants[d.r.IntN(len(consonants))])
		b.WriteByte(vowels[d.r.IntN(len(vowels))])
	}
	if w := b.String(); !d.known[w] {
		return w
	}
	return ""
}

// swapCase returns a word in upper case if it has a lower-case letter, and in lower case
// otherwise.
func swapCase(word string) string {
	if strings.ContainsFunc(word, unicode.IsLower) {
		return strings.ToUpper(word)
	}
	return strings.ToLower(word)
}
