package syntax

import (
	"regexp"
	"slices"
	"strings"
)

// Correct returns the text of a query in which a leaf has another name: that of a filter is its value, that of a term the part that corresponds to
// word. It returns "" if the leaf was not read from the text, or the query would be longer than a suggestion may be.
func (q *Parsed) Correct(leaf Query, word, name string) string {
	at := leaf.Span()
	if at.Start >= at.End || at.End > len(q.Text) {
		return ""
	}
	written := q.Text[at.Start:at.End]
	corrected := correctLeaf(leaf, written, word, name)
	if len(q.Text)-len(written)+len(corrected) > maxSuggestedBytes {
		return ""
	}
	return q.Text[:at.Start] + corrected + q.Text[at.End:]
}

func correctLeaf(leaf Query, written, word, name string) string {
	switch leaf.(type) {
	case *Text, *Symbol:
		if strings.Count(written, word) == 1 {
			return strings.Replace(written, word, name, 1)
		}
		return quoteValue(name)
	case *File, *Repo:
		if strings.ContainsAny(name, `\^$*+?()[]{}|`) {
			name = regexp.QuoteMeta(name)
		}
	}
	key, _, hasKey := strings.Cut(written, ":")
	if !hasKey || keywords[key] == nil {
		return quoteValue(name) // a term that type: is about
	}
	return key + ":" + quoteValue(name)
}

// quoteValue puts a value in quotes, if it would not be read as one word.
func quoteValue(name string) string {
	if isBareTerm(name, false) && isBareTerm(name, true) && !isGlob(name) {
		return name
	}
	return quoteTerm(name)
}

// Replace returns a tree in which a leaf is another one. Leaves are the same if they are one pointer.
func Replace(root, leaf, by Query) Query {
	return Map(root, func(q Query) Query {
		if q == leaf {
			return by
		}
		return q
	})
}

// Operands returns what must all be true for a tree to be.
func Operands(root Query) []Query { return slices.Clone(conjunctsOf(Simplify(root))) }
