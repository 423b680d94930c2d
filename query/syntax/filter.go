package syntax

import (
	"slices"
	"strings"
)

// filter describes one keyword of the language.
type filter struct {
	name    string    // canonical name, as printed and documented
	value   valueKind // how the value is read
	words   []string  // allowed values, for valueWord
	wanted  string    // description of a valid value, for messages
	newLeaf func(value string, at Span) Query
	// takesGlobs is set if an unquoted value may be a glob.
	takesGlobs bool
}

// valueKind is how the value of a filter is read.
type valueKind uint8

const (
	valueText    valueKind = iota // anything up to the next blank, or quoted
	valueRegexp                   // a regular expression in every mode
	valueTerm                     // like a bare term of the mode
	valueLiteral                  // a literal term in every mode
	valuePattern                  // a regular expression term in every mode
	valueWord                     // one of certain words, never quoted
	valueWords                    // certain words with commas between them, never quoted
	valueSetting                  // one of certain words, about the group or the whole query; produces no leaf
)

// isRegexp reports whether the value is scanned as a regular expression.
func (f *filter) isRegexp(mode bool) bool {
	return f.value == valueRegexp || f.value == valuePattern || f.value == valueTerm && mode
}

// isWord reports whether the value consists of words of f.words.
func (f *filter) isWord() bool {
	return f.value == valueWord || f.value == valueWords || f.value == valueSetting
}

var inclusionWords = []string{"yes", "no", "only"}

// Keywords of the language. The names and most aliases are those that people know from
// the established servers. regex: and literal: are ours: they let one term use the other
// kind, and let any tree be printed.
var (
	filterRepo = &filter{name: "repo", value: valueRegexp, takesGlobs: true, wanted: "a regular expression on the repository name",
		newLeaf: func(v string, at Span) Query { return &Repo{Pattern: v, At: at} }}
	filterFile = &filter{name: "file", value: valueRegexp, takesGlobs: true, wanted: "a regular expression on the path",
		newLeaf: func(v string, at Span) Query { return &File{Pattern: v, At: at} }}
	filterSymbol = &filter{name: "sym", value: valueRegexp, wanted: "a regular expression on symbol names",
		newLeaf: func(v string, at Span) Query { return &Symbol{Pattern: v, At: at} }}
	filterLanguage = &filter{name: "lang", value: valueText, wanted: "the name of a language",
		newLeaf: func(v string, at Span) Query { return &Language{Name: v, At: at} }}
	filterRevision = &filter{name: "rev", value: valueText, wanted: "a part of a ref name, HEAD or *",
		newLeaf: func(v string, at Span) Query { return &Revision{Pattern: v, At: at} }}
	filterContext = &filter{name: "context", value: valueText, wanted: "the name of a search context",
		newLeaf: func(v string, at Span) Query { return &Context{Name: v, At: at} }}
	filterRepoSet = &filter{name: "reposet", value: valueText, wanted: "repository names separated by commas", newLeaf: repoSetLeaf}
	filterContent = &filter{name: "content", value: valueTerm, wanted: "a term"}
	filterRegexp  = &filter{name: "regex", value: valuePattern, wanted: "a regular expression"}
	filterLiteral = &filter{name: "literal", value: valueLiteral, wanted: "a text"}

	filterArchived = &filter{name: "archived", value: valueWord, words: inclusionWords,
		newLeaf: func(v string, at Span) Query { return &Archived{Want: inclusionOf(v), At: at} }}
	filterFork = &filter{name: "fork", value: valueWord, words: inclusionWords,
		newLeaf: func(v string, at Span) Query { return &Fork{Want: inclusionOf(v), At: at} }}
	filterVisibility = &filter{name: "visibility", value: valueWord, words: accessWords[:],
		newLeaf: func(v string, at Span) Query { return &Visibility{Want: Access(indexOf(accessWords[:], v)), At: at} }}

	filterIs = &filter{name: "is", value: valueWord, words: slices.Concat(traitWords[:], []string{"archived", "fork"}), newLeaf: isLeaf}
	// kind: and line: are conditions on matches; bindConditions moves them into the
	// patterns.
	filterKind = &filter{name: "kind", value: valueWords, words: KindWords(),
		newLeaf: func(v string, at Span) Query { return &Kinds{Words: strings.Split(v, ","), At: at} }}
	filterLine = &filter{name: "line", value: valueRegexp, wanted: "a regular expression on the line",
		newLeaf: func(v string, at Span) Query { return &Line{Pattern: v, At: at} }}

	filterCase   = &filter{name: "case", value: valueSetting, words: []string{"yes", "no", "auto"}}
	filterType   = &filter{name: "type", value: valueSetting, words: typeWords[1:]}
	filterSelect = &filter{name: "select", value: valueSetting, words: selectWords[1:]}
)

var keywords = map[string]*filter{
	"repo": filterRepo, "r": filterRepo,
	"file": filterFile, "f": filterFile, "path": filterFile,
	"sym": filterSymbol, "symbol": filterSymbol,
	"lang": filterLanguage, "language": filterLanguage, "l": filterLanguage,
	"rev": filterRevision, "revision": filterRevision, "branch": filterRevision, "b": filterRevision,
	"context": filterContext, "scope": filterContext,
	"reposet": filterRepoSet,
	"content": filterContent, "c": filterContent,
	"regex": filterRegexp, "literal": filterLiteral,
	"archived": filterArchived, "fork": filterFork, "visibility": filterVisibility,
	"is": filterIs, "kind": filterKind, "line": filterLine,
	"case": filterCase, "type": filterType, "t": filterType, "select": filterSelect,
}

// Words of the enumerations, by value.
var (
	accessWords = [...]string{Any: "any", Public: "public", Private: "private"}
	traitWords  = [...]string{Test: "test", Vendored: "vendored", Generated: "generated", Docs: "docs"}
	typeWords   = [...]string{TypeDefault: "", TypeFile: "file", TypeRepo: "repo", TypeSymbol: "symbol"}
	selectWords = [...]string{SelectDefault: "", SelectRepo: "repo", SelectFile: "file", SelectSymbol: "symbol", SelectContent: "content"}
)

// String returns the word for the value in a query.
func (i Inclusion) String() string { return inclusionWords[i] }

// String returns the word for the value in a query.
func (a Access) String() string { return accessWords[a] }

// String returns the word for the value in a query.
func (t Trait) String() string { return traitWords[t] }

// String returns the word for the value in a query; empty for TypeDefault.
func (t TypeKind) String() string { return typeWords[t] }

// String returns the word for the value in a query; empty for SelectDefault.
func (s SelectKind) String() string { return selectWords[s] }

func inclusionOf(word string) Inclusion { return Inclusion(indexOf(inclusionWords, word)) }

// allowsValue reports whether a value is one of f.words or, for valueWords, a list of
// them.
func (f *filter) allowsValue(value string) bool {
	if f.value != valueWords {
		return indexOf(f.words, value) >= 0
	}
	for word := range strings.SplitSeq(value, ",") {
		if indexOf(f.words, word) < 0 {
			return false
		}
	}
	return true
}

// isLeaf returns the leaf of is:. Archived repositories and forks have their own filters.
func isLeaf(v string, at Span) Query {
	switch v {
	case "archived":
		return &Archived{Want: Only, At: at}
	case "fork":
		return &Fork{Want: Only, At: at}
	}
	return &Is{Trait: Trait(indexOf(traitWords[:], v)), At: at}
}

func indexOf(words []string, word string) int {
	for i, w := range words {
		if w == word {
			return i
		}
	}
	return -1
}

// repoSetLeaf returns the leaf of reposet:, or nil if the value contains no name.
func repoSetLeaf(v string, at Span) Query {
	var names []string
	for name := range strings.SplitSeq(v, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	if names == nil {
		return nil
	}
	return &RepoSet{Names: names, At: at}
}

// keywordEnd returns the position after the colon of the lower-case word at i, or -1.
func (s *scanner) keywordEnd(i, end int) int {
	const longest = 16
	for j := i; j < min(end, i+longest); j++ {
		c := s.text[j]
		if c == ':' && j > i {
			return j + 1
		}
		if c < 'a' || c > 'z' {
			return -1
		}
	}
	return -1
}

// filterAt returns the filter whose keyword and colon are at i with a value attached, and
// the position of the value. A keyword before a blank, the end, a second colon or two
// slashes is text, which is frequent in YAML, C++ and URLs. Also text are a keyword whose
// words are followed by punctuation (visibility:hidden;), and one whose quoted value
// continues after the quote (path:"a",).
func (s *scanner) filterAt(i, end int) (*filter, int) {
	v := s.keywordEnd(i, end)
	if v < 0 || v == end || isBlank(s.text[v]) || s.text[v] == ':' || strings.HasPrefix(s.text[v:end], "//") {
		return nil, 0
	}
	f := keywords[s.text[i:v-1]]
	if f == nil || f.isWord() && !s.isPlainWord(v, end) {
		return nil, 0
	}
	if s.text[v] == '"' {
		close := s.quoteEnd(v, end)
		if close >= 0 && !s.endsToken(close, end) && s.text[close] != ')' {
			return nil, 0
		}
	}
	return f, v
}

// isPlainWord reports whether the token at i consists of letters, digits and commas up to
// its end or to the end of a group.
func (s *scanner) isPlainWord(i, end int) bool {
	j := i
	for j < end && (isLetter(s.text[j]) || isDigit(s.text[j]) || s.text[j] == ',' && j > i && j+1 < end && isLetter(s.text[j+1])) {
		j++
	}
	return j > i && (s.endsToken(j, end) || s.text[j] == ')')
}

// filterToken is filterAt for a token whose range is known. It treats a one-letter
// keyword as text if the value ends like a function parameter: b:int, and b:int) are far
// more often code than filters.
func (s *scanner) filterToken(i, end int) (*filter, int) {
	f, v := s.filterAt(i, end)
	if f == nil || v > i+2 || s.text[v] == '"' {
		return f, v
	}
	value := s.text[v:s.runEnd(v, end)]
	if strings.HasSuffix(value, ",") || strings.HasSuffix(value, ";") || closesMore(value) {
		return nil, 0
	}
	return f, v
}

// closesMore reports whether a text closes a parenthesis that it did not open. Escaped
// parentheses do not count.
func closesMore(text string) bool {
	depth := 0
	for i := 0; i < len(text) && depth >= 0; i++ {
		switch text[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			depth--
		}
	}
	return depth < 0
}
