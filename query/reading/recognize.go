package reading

import (
	"regexp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/syntax"
)

// Bounds of a paste.
const (
	// MaxLines bounds the lines of a paste that are read, and MaxFrames the frames of a
	// trace.
	MaxLines  = 200
	MaxFrames = 50
	// MaxCodeLines bounds the lines of an expression for pasted code, and MaxTokens its
	// tokens.
	MaxCodeLines = 12
	MaxTokens    = 400
	// MaxWords bounds the words of a message that are read.
	MaxWords = 60
)

// Kind is the kind of a recognized text.
type Kind string

// The kinds.
const (
	Code    Kind = "code"
	Message Kind = "message"
	Trace   Kind = "trace"
)

// Kinds lists all kinds.
var Kinds = []Kind{Code, Message, Trace}

// Paste is a recognized text.
type Paste struct {
	// Kinds are what the text may be, most likely first.
	Kinds []Kind
	// Text is the query without its filters; At is its position in the query.
	Text string
	At   syntax.Span
	// Filters are the filters around the text.
	Filters []syntax.Query
	// Sure is set if the form is unmistakable: this reading is then tried before the
	// literal one. Otherwise it is tried if the literal one finds nothing.
	Sure bool
	// Long is set if a message without values has as many words as a sentence: it is
	// tried first, and must be explained from beginning to end.
	Long bool
	// Frames are the frames of a trace, in search order.
	Frames []Frame
	// Lines are the non-blank lines of the text without the prefixes that tools add, such
	// as + and line numbers; at most MaxLines.
	Lines []string
}

// Recognize returns the possible readings of a query as pasted text, or nil if the query
// is meant literally.
func Recognize(q *syntax.Parsed) *Paste {
	if q.Type != syntax.TypeDefault || q.Select != syntax.SelectDefault || q.Text == "" || caseSetting.MatchString(q.Text) {
		return nil
	}
	terms := inspectLeaves(q)
	if terms.keyword || terms.words == 0 {
		return nil
	}
	if terms.words == 1 && !terms.punctuated && !strings.Contains(q.Text, "/") && !lineAnchor.MatchString(q.Text) {
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

// lineAnchor matches the end of a file's name and the line after it, as links have them.
var lineAnchor = regexp.MustCompile(`\.\w+#L\d`)

// caseSetting matches a filter that appears in a tree only as the case of its leaves.
var caseSetting = regexp.MustCompile(`(?:^|[\s(])case:(?:yes|no|auto)(?:[\s)]|$)`)

// queryShape describes the form of a query by its leaves.
type queryShape struct {
	keyword    bool // a leaf has a keyword or is a regular expression: the query is meant literally
	words      int  // terms that are not quoted
	punctuated bool // one of them has a character that the query language does not use there
	blanks     bool // more than one leaf
	operators  bool // an or or a negation
}

// codeCharacters are rare in words that people type.
const codeCharacters = "()[]{};=<>&|*\"`"

func inspectLeaves(q *syntax.Parsed) (t queryShape) {
	leaves := 0
	syntax.Walk(q.Root, func(n syntax.Query) bool {
		leaf, ok := n.(*syntax.Text)
		if !ok {
			switch n.(type) {
			case *syntax.Symbol, *syntax.FileHas: // ranked terms are the only patterns
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

// cutFilters removes the filters from both ends of a query. It returns nil if nothing is
// left, or if there are filters elsewhere.
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

// isFilter reports whether a node is a filter on places or a negated one.
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
