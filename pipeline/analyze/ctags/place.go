package ctags

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/schemas/code"
)

const (
	// maxSearchBytes bounds the part of a line that is searched for names.
	maxSearchBytes = 16 << 10
	// maxScopeBytes and maxScopeNames bound the scope of a tag. Larger ones are ignored.
	maxScopeBytes = 1 << 10
	maxScopeNames = 64
)

// placeTags converts tags to symbols. ctags reports the line of a definition but not its
// column, so placeTags searches the line for the name. It drops tags whose name does not
// occur on the line, and tags for an occurrence that already has one.
func placeTags(text []byte, tags []tag, kinds kindSet) []code.Symbol {
	slices.SortStableFunc(tags, func(a, b tag) int { return cmp.Compare(a.Line, b.Line) })
	defined := definedNames(tags)
	symbols := make([]code.Symbol, 0, len(tags))
	lines := uint32(bytes.Count(text, []byte("\n"))) + 1
	number, start := uint32(1), 0
	searched := map[string]int{} // by name, the offset at which the search of this line continues
	for i := range tags {
		t := &tags[i]
		if t.Line == 0 || t.Line > lines {
			continue
		}
		for ; number < t.Line; number++ {
			start += bytes.IndexByte(text[start:], '\n') + 1
			clear(searched)
		}
		line := text[start:min(len(text), start+maxSearchBytes)]
		if end := bytes.IndexByte(line, '\n'); end >= 0 {
			line = line[:end]
		}
		at := findName(line, t.Name, searched[t.Name])
		kind := kinds[t.Kind]
		if at < 0 {
			searched[t.Name] = len(line) + 1 // not searched for again on this line
			continue
		}
		if kind == "" {
			continue
		}
		searched[t.Name] = at + len(t.Name)
		s := code.Symbol{Name: t.Name, Kind: kind, Offset: uint32(start + at), Line: t.Line}
		if t.End >= t.Line && t.End <= lines {
			s.EndLine = t.End
		}
		s.Parent, s.ParentKind = findParent(defined, t, kinds)
		symbols = append(symbols, s)
	}
	slices.SortStableFunc(symbols, func(a, b code.Symbol) int { return cmp.Compare(a.Offset, b.Offset) })
	return symbols
}

// findName returns the offset of the first whole-word occurrence of name in line at or
// after from, or -1 if there is none.
func findName(line []byte, name string, from int) int {
	for from <= len(line) {
		at := bytes.Index(line[from:], []byte(name))
		if at < 0 {
			return -1
		}
		at += from
		end := at + len(name)
		if !(at > 0 && isWordByte(line[at-1]) && isWordByte(name[0])) && !(end < len(line) && isWordByte(line[end]) && isWordByte(name[len(name)-1])) {
			return at
		}
		from = at + 1
	}
	return -1
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= utf8.RuneSelf
}

// definition is a name and its kind as ctags reports them.
type definition struct{ kind, name string }

func definedNames(tags []tag) map[definition]bool {
	defined := make(map[definition]bool, len(tags))
	for i := range tags {
		defined[definition{tags[i].Kind, tags[i].Name}] = true
	}
	return defined
}

// scopeSeparators are the separators that ctags puts between the names of a scope. They
// depend on the language.
var scopeSeparators = []string{`""`, "::", ".", "/", `\`}

// findParent returns the innermost name of a tag's scope. A name may contain the separator
// of another language, so the longest suffix of the scope that the file defines wins.
func findParent(defined map[definition]bool, t *tag, kinds kindSet) (string, code.SymbolKind) {
	kind := kinds[t.ScopeKind]
	if kind == "" || t.Scope == "" || len(t.Scope) > maxScopeBytes {
		return "", ""
	}
	rest := t.Scope
	for names := 1; ; names++ {
		if names > maxScopeNames {
			return "", ""
		}
		if defined[definition{t.ScopeKind, rest}] {
			return rest, kind
		}
		next := len(rest)
		for _, separator := range scopeSeparators {
			if i := strings.Index(rest, separator); i >= 0 {
				next = min(next, i+len(separator))
			}
		}
		if next == len(rest) {
			break
		}
		rest = rest[next:]
	}
	if len(rest) > code.MaxSymbolBytes || strings.ContainsAny(rest, "\n\r\x00") {
		return "", ""
	}
	return rest, kind
}
