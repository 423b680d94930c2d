package answers

import (
	"fmt"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"
)

// definition is a line that defines a name.
type definition struct {
	source   *Source
	file     string
	line     int // from 1
	name     string
	kind     string // func, method, type, class
	receiver string // receiver of a method
}

// definitionLines finds definitions by file extension. Each entry has a kind and an
// expression whose group "name" is the name.
var definitionLines = map[string][]struct {
	kind       string
	expression *regexp.Regexp
}{
	".go": {
		{"func", regexp.MustCompile(`^func (?P<name>\w+)[(\[]`)},
		{"method", regexp.MustCompile(`^func \(\w+ \*?(?P<receiver>\w+)[^)]*\) (?P<name>\w+)\(`)},
		{"type", regexp.MustCompile(`^type (?P<name>\w+)[ \[]`)},
	},
	".py": {
		{"class", regexp.MustCompile(`^\s*class (?P<name>\w+)`)},
		{"func", regexp.MustCompile(`^(?:async )?def (?P<name>\w+)\(`)},
	},
}

// definitionAt returns the definition on a line. ok is false if there is none.
func definitionAt(file, line string) (d definition, ok bool) {
	for _, l := range definitionLines[path.Ext(file)] {
		m := l.expression.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		d := definition{file: file, kind: l.kind, name: m[l.expression.SubexpIndex("name")]}
		if i := l.expression.SubexpIndex("receiver"); i > 0 {
			d.receiver = m[i]
		}
		return d, true
	}
	return d, false
}

// drawDefinition returns a definition near a random line.
func drawDefinition(r *rand.Rand, sources Sources) (definition, bool) {
	source, file, lines := sources.drawFile(r)
	first := r.IntN(len(lines))
	for i := range min(len(lines), 300) {
		n := (first + i) % len(lines)
		if d, ok := definitionAt(file, lines[n]); ok {
			d.source, d.line = source, n+1
			return d, true
		}
	}
	return definition{}, false
}

func (d *definition) position() string { return fmt.Sprintf("%s:%s:%d", d.source.Name, d.file, d.line) }

// isDefinedBy returns a function that reports whether a line defines the name of d
// anywhere. A user who types a name, or something similar, looks for one of these lines.
func (d *definition) isDefinedBy() func(Line) bool {
	return func(l Line) bool {
		other, ok := definitionAt(l.Path, l.Text)
		return ok && other.name == d.name
	}
}

// is reports whether a line is the line of d.
func (d *definition) is(l Line) bool {
	return l.Repository == d.source.Name && l.Path == d.file && l.Number == d.line
}

var identifierWord = regexp.MustCompile(`[A-Z]+(?:[a-z0-9]+)?|[a-z0-9]+`)

// wordsOf returns the words of an identifier as written. HTTPServer is one word, because
// nothing separates its parts.
func wordsOf(name string) []string { return identifierWord.FindAllString(name, -1) }

// Misspelt draws identifiers with one typing error that does not produce another word of
// the sources.
func Misspelt(sources Sources, words *vocabulary) Family {
	return Family{"misspelt identifier", func(r *rand.Rand) (Task, bool) {
		d, ok := drawDefinition(r, sources)
		if !ok || len(d.name) < 6 || len(wordsOf(d.name)) < 2 && len(d.name) < 9 {
			return Task{}, false
		}
		text, variant := misspell(r, d.name)
		if words.has(text) {
			return Task{}, false
		}
		return Task{Variant: variant, Text: text, From: d.position(), Right: d.isDefinedBy()}, true
	}}
}

// misspell makes one typing error after the first letter.
func misspell(r *rand.Rand, name string) (text, variant string) {
	i := 1 + r.IntN(len(name)-2)
	switch r.IntN(4) {
	case 0:
		return name[:i] + string(name[i+1]) + string(name[i]) + name[i+2:], "letters swapped"
	case 1:
		return name[:i] + name[i+1:], "a letter left out"
	case 2:
		return name[:i] + string(name[i]) + name[i:], "a letter twice"
	}
	return name[:i] + string(rune('a'+r.IntN(26))) + name[i+1:], "another letter"
}

// Restyled draws identifiers in another naming style, in which no other identifier is
// written.
func Restyled(sources Sources, known *vocabulary) Family {
	return Family{"restyled identifier", func(r *rand.Rand) (Task, bool) {
		d, ok := drawDefinition(r, sources)
		words := wordsOf(d.name)
		if !ok || len(words) < 2 || len(d.name) < 8 {
			return Task{}, false
		}
		text, variant := restyle(r, words)
		if known.has(text) || strings.EqualFold(text, strings.Trim(d.name, "_")) {
			return Task{}, false // a different letter case alone is not another style
		}
		return Task{Variant: variant, Text: text, From: d.position(), Right: d.isDefinedBy()}, true
	}}
}

func restyle(r *rand.Rand, words []string) (text, variant string) {
	lower := make([]string, len(words))
	titles := make([]string, len(words))
	for i, w := range words {
		lower[i] = strings.ToLower(w)
		titles[i] = strings.ToUpper(lower[i][:1]) + lower[i][1:]
	}
	switch r.IntN(5) {
	case 0:
		return strings.Join(lower, "_"), "snake_case"
	case 1:
		return strings.Join(lower, "-"), "kebab-case"
	case 2:
		return strings.ToUpper(strings.Join(lower, "_")), "SNAKE_CASE"
	case 3:
		return strings.Join(lower, " "), "words"
	}
	return strings.Join(titles, ""), "CamelCase"
}

// Parts draws some of the words of an identifier that has more.
func Parts(sources Sources) Family {
	return Family{"part of an identifier", func(r *rand.Rand) (Task, bool) {
		d, ok := drawDefinition(r, sources)
		words := wordsOf(d.name)
		if !ok || len(words) < 3 {
			return Task{}, false
		}
		n := 2 + r.IntN(len(words)-2)
		first := r.IntN(len(words) - n + 1)
		t := Task{From: d.position(), Right: d.isDefinedBy()}
		part := strings.Join(words[first:first+n], "")
		if strings.Contains(d.name, "_") {
			part = strings.Join(words[first:first+n], "_")
		}
		if len(part) < 8 || !strings.Contains(d.name, part) {
			return Task{}, false
		}
		if t.Text, t.Variant = part, "together"; r.IntN(2) == 0 {
			t.Text, t.Variant = strings.ToLower(strings.Join(words[first:first+n], " ")), "as words"
		}
		return t, true
	}}
}

// Hinted draws definitions of names that several files define, with a hint on which one
// is meant: package, receiver or kind.
func Hinted(sources Sources) Family {
	places := countDefinitions(sources)
	return Family{"definition with a hint", func(r *rand.Rand) (Task, bool) {
		d, ok := drawDefinition(r, sources)
		if !ok || places[d.name] < 3 || len(d.name) < 3 || strings.Contains(d.file, "_test") || strings.HasPrefix(d.name, "_") {
			return Task{}, false
		}
		t := Task{From: d.position(), Right: d.is}
		folder := path.Base(path.Dir(d.file))
		if folder == "." {
			folder = path.Base(d.source.Name)
		}
		switch v := r.IntN(3); {
		case d.kind == "method" && v > 0:
			t.Text, t.Variant = d.receiver+"."+d.name, "Receiver.Name"
			if v == 1 {
				t.Text, t.Variant = d.receiver+" "+d.name, "Receiver Name"
			}
			t.Right = d.sharesReceiver()
		case d.kind == "method":
			return Task{}, false
		case v == 0:
			t.Text, t.Variant = folder+"."+d.name, "package.Name"
		case v == 1:
			t.Text, t.Variant = folder+" "+d.name, "package Name"
		default:
			t.Text, t.Variant = d.keyword()+" "+d.name+" file:"+folder+"/", "keyword, name and folder"
			if path.Dir(d.file) == "." {
				return Task{}, false
			}
		}
		if d.kind != "method" {
			t.Right = d.sharesFolder(folder)
		}
		return t, true
	}}
}

// keyword returns the word before the name.
func (d *definition) keyword() string {
	switch {
	case d.kind == "func" && path.Ext(d.file) == ".py":
		return "def"
	case d.kind == "method":
		return "func"
	}
	return d.kind
}

// sharesReceiver returns a function that reports whether a line defines the name with the
// same receiver as d.
func (d *definition) sharesReceiver() func(Line) bool {
	return func(l Line) bool {
		other, ok := definitionAt(l.Path, l.Text)
		return ok && other.name == d.name && other.receiver == d.receiver
	}
}

// sharesFolder returns a function that reports whether a line defines the name in a
// folder, or else a repository, with the given name.
func (d *definition) sharesFolder(folder string) func(Line) bool {
	return func(l Line) bool {
		other, ok := definitionAt(l.Path, l.Text)
		return ok && other.name == d.name && path.Base(path.Dir(l.Repository+"/"+l.Path)) == folder
	}
}

// countDefinitions returns the number of definitions of each name.
func countDefinitions(sources Sources) map[string]int {
	count := map[string]int{}
	for _, s := range sources {
		for _, file := range s.code {
			if definitionLines[path.Ext(file)] == nil {
				continue
			}
			for _, line := range s.Lines(file) {
				if d, ok := definitionAt(file, line); ok {
					count[d.name]++
				}
			}
		}
	}
	return count
}

// Classified draws queries that contain a kind or a class.
func Classified(sources Sources) Family {
	return Family{"kind and class", func(r *rand.Rand) (Task, bool) {
		d, ok := drawDefinition(r, sources)
		words := wordsOf(d.name)
		if !ok || len(d.name) < 6 || len(words) == 0 {
			return Task{}, false
		}
		isTest := strings.HasSuffix(d.file, "_test.go") || strings.HasPrefix(path.Base(d.file), "test_") || slices.Contains(strings.Split(d.file, "/"), "test")
		t := Task{From: d.position(), Right: d.isDefinedBy()}
		switch v := r.IntN(3); {
		case v == 0 && isTest:
			t.Text, t.Variant = "is:test "+d.name, "is:test"
		case v == 0:
			t.Text, t.Variant = "-is:test -is:vendored "+d.name, "-is:test -is:vendored"
		case v == 1:
			kind := map[string]string{"func": "function", "method": "method", "type": "type,struct,interface", "class": "class"}[d.kind]
			t.Text, t.Variant = "kind:"+kind+" "+d.name, "kind: and the name"
		default:
			t.Text, t.Variant = d.keyword()+" "+d.name+" lang:"+map[string]string{".go": "go", ".py": "python"}[path.Ext(d.file)], "keyword, name and language"
		}
		return t, true
	}}
}
