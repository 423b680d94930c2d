package syntax

import (
	"fmt"
	"regexp"
	"strings"
)

// unknownFilters maps words before a colon that are filters in other search tools, or
// that people try, to what to write here. A % is replaced by the value.
var unknownFilters = map[string]string{
	"ext": "file:*.%", "extension": "file:*.%", "filetype": "file:*.%", "suffix": "file:*.%",
	"filename": "file:%", "dir": "file:%/", "directory": "file:%/", "folder": "file:%/", "in": "file:%",
	"project": "repo:%", "repository": "repo:%", "repos": "repo:%", "org": "repo:%/", "owner": "repo:%/", "user": "repo:%/",
	"ref": "rev:%", "tag": "rev:%",
	"class": "kind:class %", "def": "kind:function %", "func": "kind:function %", "function": "kind:function %",
	"interface": "kind:interface %", "method": "kind:method %", "struct": "kind:struct %",
	"license":    "file:LICENSE %",
	"definition": "sym:%", "name": "file:%", "regexp": "regex:%", "pattern": "regex:%", "grep": "regex:%",
}

// notOfQuery maps words about a request or about history to where they can be set.
var notOfQuery = map[string]string{
	"count":       "the number of matches is not part of a query: use matches in the API or -n on the command line",
	"limit":       "the number of matches is not part of a query: use matches in the API or -n on the command line",
	"max":         "the number of matches is not part of a query: use matches in the API or -n on the command line",
	"author":      "a query cannot select authors: use the history of a repository, quarry log or GET /api/commits",
	"message":     "a query cannot select commits: use the history of a repository, quarry log or GET /api/commits",
	"patterntype": "the kind of the terms is not part of a query: write regex: or literal: before a term, or use -e on the command line and isRegexEnabled in the API",
	"sort":        "the best results come first, and a query cannot order them otherwise",
	"order":       "the best results come first, and a query cannot order them otherwise",
	"timeout":     "the time of a search is not part of a query: query.timeout in the configuration bounds it",
	"refs":        "a query finds text: use quarry defs --references or find_references of the API for the uses of a symbol",
	"size":        "a query cannot select files by their size",
	"since":       dateAdvice, "until": dateAdvice, "after": dateAdvice, "before": dateAdvice,
}

const dateAdvice = "a query cannot select dates: use the history of a repository, quarry log or GET /api/commits"

// dateKeys are words that are frequent in text. They are filters only before a digit.
var dateKeys = map[string]bool{"since": true, "until": true, "after": true, "before": true}

// noticeUnknown adds a notice for a word that is a filter elsewhere and text here. It
// reports whether key is one.
func (p *parser) noticeUnknown(key string, i, end int) bool {
	at, value := Span{i, end}, p.text[i+len(key)+1:end]
	key = strings.ToLower(key)
	if key == "size" {
		value = strings.TrimLeft(value, "<>=")
	}
	if !isPlainValue(value) || dateKeys[key] && !isDigit(value[0]) {
		return false
	}
	message, instead := "", ""
	if template := unknownFilters[key]; template != "" {
		if strings.HasPrefix(template, "file:*.") {
			value = strings.TrimLeft(value, "*.")
		}
		instead = strings.Replace(template, "%", value, 1)
		message = fmt.Sprintf("%s is read as text because there is no filter %s:; write %s to filter.", p.showSpan(at), key, instead)
	} else if advice := notOfQuery[key]; advice != "" {
		message = fmt.Sprintf("%s is read as text because %s.", p.showSpan(at), advice)
	} else {
		return false
	}
	n := Notice{Code: AmbiguousQuery, At: at, Message: message}
	if corrected := p.replaceSpan(at, instead); corrected != "" {
		n.Suggestions = []string{corrected}
	}
	p.addNotice(n)
	return true
}

// foreignValues are values of filters that other search tools have, with what to write
// here. ${1} is a group of the expression.
var foreignValues = []struct {
	key        string
	expression *regexp.Regexp
	instead    string
	message    string
}{
	{"file", regexp.MustCompile(`^has\.contributor\(`), "",
		"authors are not searched: use quarry log, or file:has.owner() for owners in CODEOWNERS"},
	{"repo", regexp.MustCompile(`^has(?:\.(?:topic|tag|key|meta|description|commit\.after))?\(`), "",
		"topics, tags, descriptions and dates are not searched: use repo: with a part of the name"},
	{"select", regexp.MustCompile(`^symbol\.(\w+)$`), "select:symbol kind:${1}", "shows the symbols of this kind"},
	{"select", regexp.MustCompile(`^file\.owners$`), "file:CODEOWNERS", "finds the rules that name the owners"},
	{"select", regexp.MustCompile(`^file\.(?:directory|path)$|^commit\.`), "select:file", "lists the files"},
}

// noticeForeignValue adds a notice for a value of a filter that another search tool has.
func (p *parser) noticeForeignValue(key string, at Span, value string) {
	for _, v := range foreignValues {
		m := v.expression.FindStringSubmatchIndex(value)
		if m == nil || v.key != key {
			continue
		}
		n := Notice{Code: AmbiguousQuery, At: at, Message: fmt.Sprintf("%s is not understood here; %s.", p.showSpan(at), v.message)}
		if v.instead != "" {
			instead := string(v.expression.ExpandString(nil, v.instead, value, m))
			n.Message = fmt.Sprintf("%s is not understood here; %s %s.", p.showSpan(at), showOnLine(instead), v.message)
			if corrected := p.replaceSpan(at, instead); corrected != "" && (at.Start == 0 || p.text[at.Start-1] != '-') {
				n.Suggestions = []string{corrected}
			}
		}
		p.addNotice(n)
		return
	}
}

// isPlainValue reports whether a value looks like a filter value rather than code.
func isPlainValue(value string) bool {
	return strings.Trim(value, "*.") != "" && !strings.ContainsFunc(value, func(r rune) bool {
		return r < 0x80 && !isLetter(byte(r)) && !isDigit(byte(r)) && !strings.ContainsRune("_-.*/+#", r)
	})
}

// replaceSpan returns the query with the text at a place replaced, or "" if nothing is
// left or the result is too long to suggest.
func (p *parser) replaceSpan(at Span, by string) string {
	before := p.text[:at.Start]
	if by == "" {
		before = strings.TrimSuffix(before, "-")
	}
	if text := strings.TrimSpace(before + by + p.text[at.End:]); len(text) <= maxSuggestedBytes {
		return text
	}
	return ""
}

// revisionOfRepo matches a value of repo: with revisions after an @, as other search tools
// write them: name@main or name@main:release.
var revisionOfRepo = regexp.MustCompile(`^([^@]*[^@/])@([\w./*-]+(?::[\w./*-]+)*)$`)

// noticeRepoRevision adds a notice for a repo: with revisions after an @.
func (p *parser) noticeRepoRevision(at Span, value string) {
	m := revisionOfRepo.FindStringSubmatch(value)
	if m == nil {
		return
	}
	name, revisions := m[1], "rev:"+strings.ReplaceAll(m[2], ":", " or rev:")
	if strings.Contains(m[2], ":") {
		revisions = "(" + revisions + ")"
	}
	instead := "repo:" + name + " " + revisions
	n := Notice{Code: AmbiguousQuery, At: at, Message: fmt.Sprintf("%s selects repositories with an @ in their names; to search a revision, write %s.", p.showSpan(at), showOnLine(instead))}
	negated := at.Start > 0 && p.text[at.Start-1] == '-'
	if corrected := p.replaceSpan(at, instead); corrected != "" && !negated {
		n.Suggestions = []string{corrected}
	}
	p.addNotice(n)
}

// noticeGroupOfWord adds a notice for a word such as foo:(a b): parentheses after a colon
// group terms only in other search tools.
func (p *parser) noticeGroupOfWord(key string, i, end int) {
	at := Span{i, end}
	if p.o.Regexp || !strings.HasSuffix(p.text[i:end], ")") {
		return
	}
	p.noticeAmbiguous(at, fmt.Sprintf("%s is read as text because there is no filter %s:.", p.showSpan(at), key))
}

// noticeOperatorAtEdge adds a notice for an operator at the beginning or end of a group:
// it is read as a term.
func (p *parser) noticeOperatorAtEdge(items []item) {
	if len(items) < 2 {
		return
	}
	last := len(items) - 1
	p.noticeEdge(items[0], Span{items[0].at.Start, items[1].at.Start})
	p.noticeEdge(items[last], Span{items[last-1].at.End, items[last].at.End})
}

// noticeEdge adds the notice of noticeOperatorAtEdge if an item is an operator. The
// suggested query lacks the text at removed.
func (p *parser) noticeEdge(it item, removed Span) {
	if it.operator != opAnd && it.operator != opOr {
		return
	}
	n := Notice{Code: AmbiguousQuery, At: it.at, Message: fmt.Sprintf("%s is read as a term because it has a term only on one side.", p.showSpan(it.at))}
	if corrected := p.replaceSpan(removed, ""); corrected != "" {
		n.Suggestions = []string{corrected}
	}
	p.addNotice(n)
}
