package syntax

import (
	"regexp"
	"strings"
)

// expressionShape matches what is frequent in regular expressions and rare in text. A
// character before a * or a + is not enough: char*, i++ and a+b are code.
var expressionShape = regexp.MustCompile(strings.Join([]string{
	`\\[bBdDsSwWpP]`, `\\[.*+?()\[\]{}|^$/-]`, // classes and escapes
	`\.[*+]`, `\.\{\d`, `[\])][*+?]`, `[\])]\{\d`, `\w\?\w`, // repetitions
	`[^\s|]\|[^\s|]`, `\(\?`, // alternatives and groups
	`\[\^[^\]]+\]`, `\[[^\]\s]*\w-\w[^\]]*\]`, // classes in brackets
	`^\^\w`, `\w\$$`, // line ends
}, "|"))

// isExpression reports whether a text has the shape of a regular expression and is one
// that does not match everywhere.
func isExpression(text string) bool {
	return expressionShape.MatchString(text) && compilesSelective(text)
}

// compilesSelective reports whether a text is a regular expression within the limits that
// does not match the empty text.
func compilesSelective(text string) bool {
	size, fault := regexpSize(text, MaxRegexpInstructions)
	if fault != nil || size > MaxRegexpInstructions {
		return false
	}
	compiled, err := regexp.Compile(text)
	return err == nil && !compiled.MatchString("")
}

// ReadExpressions returns the query in which the literal terms that have the shape of
// regular expressions are read as such, or nil if no term has that shape. Quoted terms,
// terms with a keyword and negated terms keep their meaning.
func (q *Parsed) ReadExpressions() *Parsed {
	return q.rewriteLeaves(func(leaf Query, written string) Query {
		if !isExpression(written) {
			return nil
		}
		return q.expressionLeaf(leaf, written)
	})
}

// wildcardWord matches a word with a star inside, such as clean*Path.
var wildcardWord = regexp.MustCompile(`^\w+(?:\*\w+)+$`)

// ReadWildcards returns the query in which a star inside of a literal word stands for any
// characters of a word, or nil if no term has one.
func (q *Parsed) ReadWildcards() *Parsed {
	return q.rewriteLeaves(func(leaf Query, written string) Query {
		if text, ok := leaf.(*Text); ok && !text.Regexp && text.Pattern == written && wildcardWord.MatchString(written) {
			return q.expressionLeaf(leaf, written).(*Text).withPattern(strings.ReplaceAll(written, "*", `\w*`))
		}
		return nil
	})
}

func (q *Text) withPattern(pattern string) *Text {
	other := *q
	other.Pattern = pattern
	return &other
}

// excludedWord matches a word after an exclamation mark.
var excludedWord = regexp.MustCompile(`^![\pL_]\w*$`)

// ReadExclusions returns the query in which an exclamation mark before a word of several
// terms excludes it, as a minus does, or nil if no term has one.
func (q *Parsed) ReadExclusions() *Parsed {
	if len(conjunctsOf(q.Root)) < 2 {
		return nil
	}
	return q.rewriteLeaves(func(leaf Query, written string) Query {
		if text, ok := leaf.(*Text); ok && !text.Regexp && text.Pattern == written && excludedWord.MatchString(written) {
			return &Not{Child: text.withPattern(written[1:])}
		}
		return nil
	})
}

// rewriteLeaves returns the query with the leaves for which rewrite returns another tree,
// or nil if it does for none. Negated leaves keep their meaning.
func (q *Parsed) rewriteLeaves(rewrite func(leaf Query, written string) Query) *Parsed {
	text, at := "", 0
	Walk(q.Root, func(leaf Query) bool {
		if _, negated := leaf.(*Not); negated {
			return false
		}
		span := leaf.Span()
		if span.Start < at || span.End <= span.Start || span.End > len(q.Text) {
			return true
		}
		if other := rewrite(leaf, q.Text[span.Start:span.End]); other != nil {
			text += q.Text[at:span.Start] + Print(other, q.Options)
			at = span.End
		}
		return true
	})
	if at == 0 {
		return nil
	}
	return q.parseOther(text + q.Text[at:])
}

// slashedExpression matches an expression between slashes, such as /func \w+/, as other
// search tools write one. A path such as /usr/lib/ is none.
var slashedExpression = regexp.MustCompile(`(^|[\s(])/((?:[^/\\]|\\.)+)/($|[\s)])`)

// ReadSlashed returns the query in which an expression between slashes, such as
// /func.*Reader/, is read as a regular expression, or nil if there is none.
func (q *Parsed) ReadSlashed() *Parsed {
	m := slashedExpression.FindStringSubmatchIndex(q.Text)
	if m == nil || strings.Contains(q.Text, `"`) {
		return nil
	}
	pattern := strings.ReplaceAll(q.Text[m[4]:m[5]], `\/`, "/")
	if !compilesSelective(pattern) || strings.TrimSpace(pattern) != pattern {
		return nil
	}
	key := map[TypeKind]string{TypeDefault: "regex", TypeFile: "file", TypeRepo: "repo", TypeSymbol: "sym"}[q.Type]
	value := pattern
	if !isBareValue(value, true) || isGlob(value) {
		value = quoteTerm(value)
	}
	return q.parseOther(q.Text[:m[3]] + key + ":" + value + q.Text[m[6]:])
}

// filePlace matches a file filter whose value is a line of a file.
var filePlace = regexp.MustCompile(`(?:^|\s)(file:)([\w./+-]+\.\w+:\d+(?::\d+)?)(?:\s|$)`)

// ReadPlace returns the query in which file:PATH:LINE is the place itself, as without the
// filter, and the query that keeps the filter; nil if there is none. All positions in place
// are those in q.
func (q *Parsed) ReadPlace() (place *Parsed, filtered string) {
	if !strings.Contains(q.Text, "file:") || strings.Contains(q.Text, `"`) || q.Type != TypeDefault {
		return nil, ""
	}
	m := filePlace.FindStringSubmatchIndex(q.Text)
	if m == nil {
		return nil, ""
	}
	place = q.parseOther(q.Text[:m[2]] + strings.Repeat(" ", m[3]-m[2]) + q.Text[m[3]:])
	return place, q.Text[:m[4]] + quoteTerm(q.Text[m[4]:m[5]]) + q.Text[m[5]:]
}

// parseOther parses another text with the options of q and what its search contexts mean. It
// returns nil if the text is invalid or too long for a suggestion.
func (q *Parsed) parseOther(text string) *Parsed {
	if len(text) > maxSuggestedBytes {
		return nil
	}
	parsed, err := Parse(text, q.Options)
	if err != nil {
		return nil
	}
	for _, known := range Contexts(q.Root) {
		for _, c := range Contexts(parsed.Root) {
			if c.Name == known.Name {
				c.Means = known.Means
			}
		}
	}
	return parsed
}

// expressionLeaf returns a leaf with its text as an expression, or nil if the leaf is not a
// literal term without a keyword. Its letter case is that of the options; other
// conditions are written elsewhere in the query.
func (q *Parsed) expressionLeaf(leaf Query, written string) Query {
	letters, quoted := CaseNo, regexp.QuoteMeta(written)
	if q.Options.CaseSensitive {
		letters = CaseYes
	}
	switch leaf := leaf.(type) {
	case *Text:
		if !leaf.Regexp && leaf.Pattern == written {
			return &Text{Pattern: written, Regexp: true, Case: letters}
		}
	case *File:
		if q.Type == TypeFile && !q.Options.Regexp && leaf.Pattern == quoted {
			return &File{Pattern: written, Case: letters}
		}
	case *Symbol:
		if q.Type == TypeSymbol && !q.Options.Regexp && leaf.Pattern == quoted {
			return &Symbol{Pattern: written, Case: letters}
		}
	case *Repo:
		if q.Type == TypeRepo && !q.Options.Regexp && leaf.Pattern == quoted {
			return &Repo{Pattern: written, Case: CaseNo}
		}
	}
	return nil
}
