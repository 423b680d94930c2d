package syntax

import (
	"fmt"
	"regexp"
	"strings"
)

// predicateKind is what the value of repo: or file: requires, if it is a predicate such as
// has.file(path:go.mod content:pebble).
type predicateKind uint8

const (
	predicateFile    predicateKind = iota + 1 // a file, by path: and content:
	predicatePath                             // a file, by its path
	predicateContent                          // a text
	predicateOwner                            // an owner in CODEOWNERS
)

// predicates maps filters with the name of a predicate to its kind. Other code search
// servers have these names.
var predicates = map[string]predicateKind{
	"repo:has.file": predicateFile, "repo:contains.file": predicateFile,
	"repo:has.path": predicatePath, "repo:contains.path": predicatePath,
	"repo:has.content": predicateContent, "repo:contains.content": predicateContent,
	"file:has.content": predicateContent, "file:contains.content": predicateContent, "file:contains": predicateContent,
	"file:has.owner": predicateOwner,
}

// predicateAt returns the kind of the predicate at the value v of a filter, and the
// position of its parenthesis; 0 if there is none.
func (s *scanner) predicateAt(f *filter, v, end int) (kind predicateKind, open int) {
	const longest = len("contains.content(")
	n := strings.IndexByte(s.text[v:min(end, v+longest)], '(')
	if n < 0 {
		return 0, 0
	}
	return predicates[f.name+":"+s.text[v:v+n]], v + n
}

// predicateEnd returns the position after the predicate whose parenthesis is at open, or
// -1 if the token is not a predicate.
func (s *scanner) predicateEnd(open, end int) int {
	close := s.regexpParenEnd(open, end)
	if close == open+1 || !s.endsToken(close, end) {
		return -1
	}
	return close
}

// predicateParam is a condition of a predicate on a file.
type predicateParam struct {
	content   bool // on its text rather than its path
	at, value Span
}

// parsePredicate reads the predicate of a filter whose keyword is at i and whose
// parentheses are at open and before next.
func (p *parser) parsePredicate(f *filter, kind predicateKind, i, open, next int) (Query, *Error) {
	value, path, content := p.trimBlanks(Span{open + 1, next - 1}), "", ""
	if kind == predicateOwner {
		return p.parseOwner(Span{i, next}, value)
	}
	params := []predicateParam{{kind == predicateContent, value, value}}
	if kind == predicateFile {
		params = p.splitParams(value)
	}
	for _, param := range params {
		pattern, err := p.paramPattern(param)
		if err != nil {
			return nil, err
		}
		target := &path
		if param.content {
			target = &content
		}
		if *target != "" {
			return nil, p.newError(param.at.Start, p.text[i:open]+"() has two values of one kind", "Write one expression with alternatives: (a|b).")
		}
		*target = pattern
	}
	if path+content == "" {
		return nil, p.newError(open, p.text[i:open]+"() has no value",
			"Write repo:has.file(path:go.mod content:pebble), repo:has.path(go.mod), repo:has.content(TODO) or file:has.content(TODO).")
	}
	p.terms++
	p.addAddition(Span{i, next}, additionPredicate)
	if f == filterFile {
		return &FileHas{Pattern: content, At: Span{i, next}}, nil
	}
	if p.predicates++; p.predicates > MaxPredicates {
		return nil, p.tooManyPredicates(i)
	}
	return &RepoHas{Path: path, Content: content, At: Span{i, next}}, nil
}

// ownerName matches a user, a team or an email address, with or without the @ before it.
var ownerName = regexp.MustCompile(`^@?[\w./+@-]*$`)

// parseOwner reads file:has.owner(). Without a name, it selects files that have any owner.
func (p *parser) parseOwner(at, raw Span) (Query, *Error) {
	owner := p.text[raw.Start:raw.End]
	if !ownerName.MatchString(owner) || owner == "@" {
		return nil, p.newError(raw.Start, "file:has.owner() needs the name of one owner",
			"Write file:has.owner(@user), file:has.owner(@org/team), file:has.owner(user@example.com), or file:has.owner() for any owner.")
	}
	p.addAddition(at, additionPredicate)
	p.terms++
	if p.predicates++; p.predicates > MaxPredicates {
		return nil, p.tooManyPredicates(at.Start)
	}
	return &Owned{Owner: owner, At: at}, nil
}

func (p *parser) tooManyPredicates(i int) *Error {
	return p.newError(i, fmt.Sprintf("the query has more than %d predicates on repositories and owners", MaxPredicates),
		"Join alternatives into one expression: repo:has.path((a|b)).")
}

func (p *parser) trimBlanks(at Span) Span {
	at.Start = p.skipBlanks(at.Start, at.End)
	for at.End > at.Start && isBlank(p.text[at.End-1]) {
		at.End--
	}
	return at
}

// splitParams returns the conditions at a place: path: and content:, up to the next of
// them. A text before them is a path.
func (p *parser) splitParams(raw Span) (params []predicateParam) {
	for i := raw.Start; i < raw.End; {
		key := paramKey.FindString(p.text[i:raw.End])
		value, next := p.skipBlanks(i+len(key), raw.End), raw.End
		from := value
		if from < raw.End && p.text[from] == '"' {
			from = max(from, p.quoteEnd(from, raw.End))
		}
		if n := laterParamKey.FindStringIndex(p.text[from:raw.End]); n != nil {
			next = from + n[0] + 1
		}
		params = append(params, predicateParam{key == "content:", p.trimBlanks(Span{i, next}), p.trimBlanks(Span{value, next})})
		i = next
	}
	return params
}

var (
	paramKey      = regexp.MustCompile(`^(?:path|file|content):`)
	laterParamKey = regexp.MustCompile(`\s(?:path|file|content):`)
)

// paramPattern decodes and checks the value of a condition.
func (p *parser) paramPattern(param predicateParam) (pattern string, err *Error) {
	raw := param.value
	if raw.Start >= raw.End {
		return "", p.newError(raw.Start, "the predicate has no value", "Write a regular expression after the colon.")
	}
	quoted := raw.End > raw.Start+1 && p.text[raw.Start] == '"' && p.quoteEnd(raw.Start, raw.End) == raw.End
	if quoted {
		raw = Span{raw.Start + 1, raw.End - 1}
	}
	if param.content {
		pattern, err = p.parsePattern(raw, quoted, true)
	} else {
		pattern, err = p.filterPattern(filterFile, param.at, raw, quoted)
	}
	if _, printable := paramText(pattern, !param.content); err == nil && !printable {
		err = p.newError(raw.Start, "the value cannot be written in a predicate",
			`Write \x20 for a blank at its edges, \x22 for a quote, and \( for a parenthesis without a partner.`)
	}
	return pattern, err
}

// paramText returns the value of a condition from which paramPattern reads a pattern, and
// whether there is one: a backslash in quotes would hide what follows it from the scanner.
func paramText(pattern string, isPath bool) (string, bool) {
	if pattern == "" || !isBalanced(pattern) {
		return "", false
	}
	last := len(pattern) - 1
	hasEdge := isBlank(pattern[0]) || isBlank(pattern[last]) || pattern[0] == '"'
	if hasEdge || laterParamKey.MatchString(pattern) || isPath && isGlob(pattern) {
		return quoteTerm(pattern), !strings.Contains(pattern, `\`)
	}
	return pattern, true
}

func (p *printer) writeRepoHas(q *RepoHas) {
	p.b.WriteString("repo:has.file(")
	if q.Path != "" {
		text, _ := paramText(q.Path, true)
		p.b.WriteString("path:" + text)
	}
	if q.Path != "" && q.Content != "" {
		p.b.WriteByte(' ')
	}
	if q.Content != "" {
		text, _ := paramText(q.Content, false)
		p.b.WriteString("content:" + text)
	}
	p.b.WriteByte(')')
}

// isPredicate reports whether an unquoted value of a filter would be read as a predicate.
func isPredicate(f *filter, v string) bool {
	s := newScanner(v, true)
	kind, _ := s.predicateAt(f, 0, len(v))
	return kind != 0
}
