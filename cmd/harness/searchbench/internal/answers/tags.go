package answers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// tag is a definition that universal-ctags lists.
type tag struct {
	Name, Path, Language string
	Line                 int // from 1
	Kind                 string
	Scope                string // qualified name of the enclosing symbol
	ScopeKind            string
	source               *Source
}

// typeKinds are the kinds of types in the terms of universal-ctags, of all languages.
var typeKinds = map[string]bool{
	"class": true, "struct": true, "interface": true, "enum": true, "trait": true, "object": true, "type": true, "typedef": true, "union": true,
}

// isType reports whether a kind of tags is a type in a language. A module is one in Ruby
// only.
func isType(kind, language string) bool {
	return typeKinds[kind] || kind == "module" && language == "Ruby"
}

// methodKinds are the kinds of functions that may be in a type. A member of a class is a
// method in Python and a field elsewhere.
var methodKinds = map[string]bool{"method": true, "func": true, "function": true, "singletonMethod": true}

// separators are written between a type and its method.
var separators = map[string]string{
	"Go": ".", "Java": ".", "TypeScript": ".", "JavaScript": ".", "Python": ".", "C#": ".", "Kotlin": ".", "Rust": "::", "C++": "::", "PHP": "::", "Ruby": "#",
}

// readTags runs universal-ctags over the code of all sources. It skips test code, vendored
// and minified files.
func readTags(ctx context.Context, sources Sources) (all []tag, err error) {
	for _, s := range sources {
		cmd := exec.CommandContext(ctx, "ctags", "--output-format=json", "--fields=NFnKsZl", "--sort=no", "-L", "-", "-f", "-")
		cmd.Dir, cmd.Stdin = s.Dir, strings.NewReader(strings.Join(slices.DeleteFunc(slices.Clone(s.code), secondary.MatchString), "\n"))
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("run universal-ctags over %s: %w", s.Name, err)
		}
		scanner := bufio.NewScanner(bytes.NewReader(out))
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			t := tag{source: s}
			if err := json.Unmarshal(scanner.Bytes(), &t); err != nil {
				return nil, fmt.Errorf("decode tags of %s: %w", s.Name, err)
			}
			if separators[t.Language] != "" && wholeName.MatchString(t.Name) && !t.isObjectLiteral() {
				all = append(all, t)
			}
		}
		if err := scanner.Err(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// isObjectLiteral reports whether a tag is an object literal of JavaScript, which
// universal-ctags calls a class.
func (t *tag) isObjectLiteral() bool {
	if t.Language != "JavaScript" || t.Kind != "class" {
		return false
	}
	lines := t.source.Lines(t.Path)
	return t.Line <= len(lines) && !classWord.MatchString(lines[t.Line-1])
}

var (
	classWord = regexp.MustCompile(`\b(class|function)\b`)
	wholeName = regexp.MustCompile(`^\w{3,}[?!]?$`)
	// unnamed matches the names that universal-ctags makes for types without one.
	unnamed = regexp.MustCompile(`^(__anon|AnonymousClass[0-9a-f]+$)`)
	// secondary matches paths of tests, examples, generated and vendored files.
	secondary = regexp.MustCompile(`(?i)(^|[/_.-])(tests?|testing|specs?|examples?|samples?|fixtures?|testdata|mocks?|benchmarks?|vendor|third_party|node_modules|dist|docs?|features)([/_.-]|$)|tests?/|tests?\.\w+$|\.min\.`)
)

// parent returns the last name of the scope, or an empty string unless it is a type. For a
// companion object of Kotlin, that is its class, as callers write it.
func (t *tag) parent() string {
	scope := t.Scope
	if t.Language == "Kotlin" {
		scope = strings.TrimSuffix(scope, ".Companion")
	}
	scope = scope[strings.LastIndexAny(scope, `.:\`)+1:]
	inType := isType(t.ScopeKind, t.Language) || t.ScopeKind == "implementation" || t.ScopeKind == "unknown" && t.Language == "Go"
	if !inType || !wholeName.MatchString(scope) || unnamed.MatchString(scope) {
		return ""
	}
	return scope
}

func (t *tag) isMethod() bool {
	return (methodKinds[t.Kind] || t.Kind == "member" && t.Language == "Python") && t.parent() != ""
}

// tagIndex finds the tags of a line, and holds those of a name.
type tagIndex map[string][]tag

func indexTags(all []tag) tagIndex {
	x := tagIndex{}
	for _, t := range all {
		x[t.Name] = append(x[t.Name], t)
	}
	return x
}

// defines returns a function that reports whether a line defines a name in a way that
// keep accepts.
func (x tagIndex) defines(name string, keep func(*tag) bool) func(Line) bool {
	return func(l Line) bool {
		return slices.ContainsFunc(x[name], func(t tag) bool {
			return t.source.Name == l.Repository && t.Path == l.Path && t.Line == l.Number && keep(&t)
		})
	}
}

// typesOfSource is the number of most used types of each source.
const typesOfSource = 12

// mostUsed returns the names of the types of each source that its code contains most
// often as words.
func mostUsed(sources Sources, all []tag) map[*Source][]tag {
	most := map[*Source][]tag{}
	for _, s := range sources {
		types, uses := map[string]tag{}, map[string]int{}
		for _, t := range all {
			if _, ok := types[t.Name]; t.source == s && isType(t.Kind, t.Language) && !ok {
				types[t.Name] = t
			}
		}
		for _, file := range s.code {
			for _, line := range s.Lines(file) {
				for _, word := range token.FindAllString(line, -1) {
					if _, ok := types[word]; ok {
						uses[word]++
					}
				}
			}
		}
		for _, t := range types {
			most[s] = append(most[s], t)
		}
		slices.SortFunc(most[s], func(a, b tag) int {
			if uses[a.Name] != uses[b.Name] {
				return uses[b.Name] - uses[a.Name]
			}
			return strings.Compare(a.Name, b.Name)
		})
		most[s] = most[s][:min(len(most[s]), typesOfSource)]
	}
	return most
}

func (t *tag) position() string { return fmt.Sprintf("%s:%s:%d", t.source.Name, t.Path, t.Line) }

// drawTag returns one of the tags, from each source with the same probability.
func drawTag(r *rand.Rand, sources Sources, bySource map[*Source][]tag) (tag, bool) {
	from := bySource[sources[r.IntN(len(sources))]]
	if len(from) == 0 {
		return tag{}, false
	}
	return from[r.IntN(len(from))], true
}

// TagFamilies returns the families whose answers universal-ctags gives: the most used
// types, in one repository and in all, methods by their qualified names, and questions
// that are made from the first sentence of the comment of a function.
func TagFamilies(ctx context.Context, sources Sources) ([]Family, error) {
	all, err := readTags(ctx, sources)
	if err != nil {
		return nil, err
	}
	x, used := indexTags(all), mostUsed(sources, all)
	methods, functions := map[*Source][]tag{}, map[*Source][]tag{}
	for _, t := range all {
		if t.isMethod() {
			methods[t.source] = append(methods[t.source], t)
		}
		if methodKinds[t.Kind] || t.Kind == "member" {
			functions[t.source] = append(functions[t.source], t)
		}
	}
	common := func(inOne bool) func(r *rand.Rand) (Task, bool) {
		return func(r *rand.Rand) (Task, bool) {
			d, ok := drawTag(r, sources, used)
			t := Task{Text: d.Name, Language: d.Language, Peer: PeerQuery{Text: d.Name}}
			if !ok {
				return t, false
			}
			t.From = d.position()
			if inOne {
				t.Text += " repo:" + d.source.Name
				t.Peer.Repository = d.source.Name
			}
			t.Right = x.defines(d.Name, func(o *tag) bool { return isType(o.Kind, o.Language) && (!inOne || o.source == d.source) })
			return t, true
		}
	}
	return []Family{
		{Name: "most used type with repo:", Draw: common(true)},
		{Name: "most used type", Draw: common(false)},
		{Name: "Parent.method", Draw: func(r *rand.Rand) (Task, bool) {
			d, ok := drawTag(r, sources, methods)
			if !ok {
				return Task{}, false
			}
			parent := d.parent()
			t := Task{Text: parent + separators[d.Language] + d.Name, Language: d.Language, From: d.position()}
			t.Peer.Text = parent + " sym:^" + regexp.QuoteMeta(d.Name) + "$"
			t.Right = x.defines(d.Name, func(o *tag) bool { return o.parent() == parent })
			return t, true
		}},
		{Name: "question from a comment", Draw: func(r *rand.Rand) (Task, bool) {
			d, ok := drawTag(r, sources, functions)
			if !ok {
				return Task{}, false
			}
			sentence := firstSentence(d.source.Lines(d.Path), d.Line-1, d.Name)
			if n := len(strings.Fields(sentence)); n < 5 || n > 16 {
				return Task{}, false
			}
			t := Task{Text: asQuestion(sentence), Language: d.Language, From: d.position()}
			t.Peer = orQuery(sentence)
			t.Right = func(l Line) bool { return l.Repository == d.source.Name && l.Path == d.Path }
			return t, t.Peer.Text != ""
		}},
	}, nil
}

var (
	commentMarks = regexp.MustCompile(`^\s*(///?!?|/\*\*?|\*/?|#|"""|''')\s*`)
	sentenceEnd  = regexp.MustCompile(`[.:;](\s|$|"""|''')|"""|'''|\*/`)
	markup       = regexp.MustCompile("</?\\w+[^>]*>|\\{@\\w+ |[`}\\[\\]*]")
	thirdPerson  = regexp.MustCompile(`^[A-Z][a-z]*[^s]s$`)
)

// firstSentence returns the first sentence of the comment above, or for Python below, the
// line of a definition, without marks. It returns an empty string if there is none.
func firstSentence(lines []string, at int, name string) string {
	isComment := func(i int) bool { return i >= 0 && i < len(lines) && commentMarks.MatchString(lines[i]) }
	if at >= len(lines) {
		return ""
	}
	first := at
	for first > 0 && (isComment(first-1) || strings.HasPrefix(strings.TrimSpace(lines[first-1]), "@") || strings.HasPrefix(strings.TrimSpace(lines[first-1]), "#[")) && at-first < 60 {
		first--
	}
	if first == at && isComment(at+1) && strings.Contains(lines[at+1], `"""`) {
		first, at = at+1, min(at+4, len(lines))
	}
	var text []string
	for i := first; i < at; i++ {
		if line := strings.TrimSpace(commentMarks.ReplaceAllString(lines[i], "")); line != "" {
			text = append(text, line)
		} else if len(text) > 0 {
			break
		}
	}
	sentence := strings.Join(text, " ")
	if end := sentenceEnd.FindStringIndex(sentence); end != nil {
		sentence = sentence[:end[0]]
	}
	sentence = strings.TrimPrefix(strings.TrimSpace(markup.ReplaceAllString(sentence, "")), name+" ")
	if strings.ContainsAny(sentence, "(){}<>=@\\|&") {
		return ""
	}
	return sentence
}

// asQuestion rewrites the sentence of a comment as a question of a person.
func asQuestion(sentence string) string {
	words := strings.Fields(sentence)
	first := strings.ToUpper(words[0][:1]) + words[0][1:]
	rest := strings.Join(append([]string{strings.ToLower(first)}, words[1:]...), " ")
	if thirdPerson.MatchString(first) {
		return "where is the code that " + rest + "?"
	}
	return "how does it " + rest + "?"
}
