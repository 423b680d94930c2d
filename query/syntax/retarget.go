package syntax

import "regexp"

// retargetTerms makes the bare terms of a query match the names selected by its type:. A
// term with a keyword (content:, regex:, literal:) still matches content: type:file
// content:TODO finds files by their content.
func (p *parser) retargetTerms(q Query, kind TypeKind) Query {
	if kind == TypeDefault {
		return q
	}
	return Map(q, func(q Query) Query {
		if text, ok := q.(*Text); ok && p.bare[q] {
			return asNamePattern(text, kind)
		}
		return q
	})
}

// asNamePattern converts a term to a pattern on names.
func asNamePattern(q *Text, kind TypeKind) Query {
	pattern := q.Pattern
	if !q.Regexp {
		pattern = regexp.QuoteMeta(pattern)
	}
	switch kind {
	case TypeFile:
		return &File{Pattern: pattern, Case: q.Case, At: q.At}
	case TypeRepo:
		return &Repo{Pattern: pattern, Case: q.Case, At: q.At}
	case TypeSymbol:
		return &Symbol{Pattern: pattern, Case: q.Case, Lines: q.Lines, At: q.At}
	}
	return q
}
