package plan

import "regexp/syntax"

// WrittenLiteral returns the characters of a regular expression, in their letter case, if
// it is a literal with or without anchors.
func WrittenLiteral(expression string) string {
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return ""
	}
	parts := []*syntax.Regexp{tree}
	if tree.Op == syntax.OpConcat {
		parts = tree.Sub
	}
	literal := ""
	for _, p := range parts {
		switch p.Op {
		case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary:
		case syntax.OpLiteral:
			literal += string(p.Rune)
		default:
			return ""
		}
	}
	return literal
}
