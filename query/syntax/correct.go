package syntax

import (
	"regexp"
	"slices"
	"strings"
)

// Correct returns the text of a query in which a leaf has another name: the value of a
// filter, or the part of a term that corresponds to word. It returns "" if the leaf was
// not read from the text, or if the query would be too long for a suggestion.
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
		return quoteValue(name) // a term that type: applies to
	}
	return key + ":" + quoteValue(name)
}

// quoteValue quotes a value that would not be read as one word.
func quoteValue(name string) string {
	if isBareTerm(name, false) && isBareTerm(name, true) && !isGlob(name) {
		return name
	}
	return quoteTerm(name)
}

// Replace returns root with leaf replaced. Leaves are compared by pointer.
func Replace(root, leaf, by Query) Query {
	return Map(root, func(q Query) Query {
		if q == leaf {
			return by
		}
		return q
	})
}

// Operands returns the operands that must all be true for root to be true.
func Operands(root Query) []Query { return slices.Clone(conjunctsOf(Simplify(root))) }
