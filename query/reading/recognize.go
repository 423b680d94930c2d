package reading

import (
	"regexp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/syntax"
)

// Bounds of a paste.
const (
	// MaxLines bounds the lines of a paste that are looked at, MaxFrames the frames of a trace.
	MaxLines  = 200
	MaxFrames = 50
	// MaxCodeLines bounds the lines of an expression for pasted code, MaxTokens its tokens.
	MaxCodeLines = 12
	MaxTokens    = 400
	// MaxWords bounds the words of a message that are looked at.
	MaxWords = 60
)

// Kind is what a text was recognized as.
type Kind string

// The kinds.
const (
	Code    Kind = "code"
	Message Kind = "message"
	Trace   Kind = "trace"
)

// Kinds lists them.
var Kinds = []Kind{Code, Message, Trace}

// Paste is a text that was recognized.
type Paste struct {
	// Kinds are what the text may be, the likeliest first.
	Kinds []Kind
	// Text is the query without its filters; At is its position in the query.
	Text string
	At   syntax.Span
	// Filters are those around the text.
	Filters []syntax.Query
	// Sure says that the shape leaves no doubt: the reading comes before the literal one. Otherwise it is tried when the
	// literal one finds nothing.
	Sure bool
	// Long says that a message without values has as many words as a sentence: it is tried first, and must be explained
	// from its begin to its end.
	Long bool
	// Frames are those of a trace, in the order in which they are to be looked for.
	Frames []Frame
	// Lines are those of the text that are not blank, without what tools put before them, such as + and line numbers;
	// at most MaxLines.
	Lines []string
}

// Recognize returns what the text of a query is beyond its literal reading, nil if it is meant literally.
func Recognize(q *syntax.Parsed) *Paste {
	if q.Type != syntax.TypeDefault || q.Select != syntax.SelectDefault || q.Text == "" || caseSetting.MatchString(q.Text) {
		return nil
	}
	terms := inspectLeaves(q)
	if terms.keyword || terms.words == 0 {
		return nil
	}
	if terms.words == 1 && !terms.punctuated && !strings.Contains(q.Text, "/") {
		return nil
	}
	p := cutFilters(q)
	if p == nil {
		return nil
	}
	p.Lines = pastedLines(p.Text)
	if p.isTrace() {
		return p
	}
	if p.isMessage(&terms) {
		p.Kinds = append(p.Kinds, Message)
	}
	if p.isCode(&terms) {
		p.Kinds = append(p.Kinds, Code)
	}
	if len(p.Kinds) == 0 {
		return nil
	}
	p.Long = p.Long && len(p.Kinds) == 1
	if len(p.Kinds) > 1 && !p.looksLikeMessage() {
		slices.Reverse(p.Kinds)
	}
	return p
}

// caseSetting is a filter that leaves no trace in a tree but on its leaves.
var caseSetting = regexp.MustCompile(`(?:^|[\s(])case:(?:yes|no|auto)(?:[\s)]|$)`)

// queryShape is what the leaves of a query say of its shape.
type queryShape struct {
	keyword    bool // a leaf has a keyword, or is a regular expression: the query is meant literally
	words      int  // terms that are not in quotes
	punctuated bool // one of them has a character that the query language has no use for there
	blanks     bool // there is more than one leaf
	operators  bool // there is an or, or a negation
}

// codeCharacters are those that words of people seldom have.
const codeCharacters = "()[]{};=<>&|*\"`"

func inspectLeaves(q *syntax.Parsed) (t queryShape) {
	leaves := 0
	syntax.Walk(q.Root, func(n syntax.Query) bool {
		leaf, ok := n.(*syntax.Text)
		if !ok {
			switch n.(type) {
			case *syntax.Symbol:
				t.keyword = true
			case *syntax.Or, *syntax.Not:
				t.operators = t.operators || !isFilter(n)
			}
			return !t.keyword
		}
		leaves++
		at := leaf.At
		switch {
		case leaf.Regexp || len(leaf.Lines) > 0 || at.End <= at.Start || at.End > len(q.Text) || hasKeyword(q.Text[at.Start:at.End], leaf.Pattern):
			t.keyword = true
		case q.Text[at.Start] == '"' && q.Text[at.Start:at.End] != leaf.Pattern:
		default:
			t.words++
			t.punctuated = t.punctuated || strings.ContainsAny(leaf.Pattern, codeCharacters) || strings.Contains(leaf.Pattern, ":") && strings.ContainsAny(leaf.Pattern, "0123456789@")
		}
		return !t.keyword
	})
	t.blanks = leaves > 1
	return t
}

// hasKeyword reports whether a leaf was written with content:, literal: or regex:.
func hasKeyword(written, pattern string) bool {
	if written == pattern || written[0] == '"' {
		return false
	}
	key, _, found := strings.Cut(written, ":")
	switch key {
	case "content", "c", "literal", "regex":
		return found && !strings.HasPrefix(pattern, key+":")
	}
	return false
}

// cutFilters removes the filters from both ends of a query; nil if nothing is left, or if filters are elsewhere.
func cutFilters(q *syntax.Parsed) *Paste {
	p := &Paste{At: syntax.Span{Start: 0, End: len(q.Text)}}
	children := []syntax.Query{q.Root}
	if and, ok := q.Root.(*syntax.And); ok {
		children = and.Children
	}
	first, last := 0, len(children)
	for first < last && isFilter(children[first]) {
		p.Filters = append(p.Filters, children[first])
		p.At.Start = children[first].Span().End
		first++
	}
	for last > first && isFilter(children[last-1]) {
		last--
		p.Filters = append(p.Filters, children[last])
		p.At.End = children[last].Span().Start
	}
	if first == last || p.At.Start > p.At.End || p.At.End > len(q.Text) {
		return nil
	}
	for _, c := range children[first:last] {
		filtered := false
		syntax.Walk(c, func(n syntax.Query) bool {
			filtered = filtered || isFilter(n)
			return !filtered
		})
		if filtered {
			return nil
		}
	}
	p.Text = strings.TrimSpace(q.Text[p.At.Start:p.At.End])
	p.At.Start += strings.Index(q.Text[p.At.Start:], p.Text)
	p.At.End = p.At.Start + len(p.Text)
	return p
}

// isFilter reports whether a node is a filter on places, or a negated one.
func isFilter(q syntax.Query) bool {
	if not, ok := q.(*syntax.Not); ok {
		q = not.Child
	}
	switch q.(type) {
	case *syntax.And, *syntax.Or, *syntax.Not, *syntax.Text, *syntax.Symbol, *syntax.Const:
		return false
	}
	return true
}
