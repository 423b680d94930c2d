package syntax

import (
	"fmt"
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
	"definition": "sym:%", "name": "file:%", "regexp": "regex:%", "pattern": "regex:%", "grep": "regex:%",
}

// notOfQuery maps words about a request or about history to where they can be set.
var notOfQuery = map[string]string{
	"count":  "the number of matches is not part of a query: use matches in the API or -n on the command line",
	"limit":  "the number of matches is not part of a query: use matches in the API or -n on the command line",
	"max":    "the number of matches is not part of a query: use matches in the API or -n on the command line",
	"author": "a query cannot select authors: use quarry log or GET /api/commits",
	"since":  "a query cannot select dates: use quarry log or GET /api/commits",
	"until":  "a query cannot select dates: use quarry log or GET /api/commits",
}

// noticeUnknown adds a notice for a word that is a filter elsewhere and text here. It
// reports whether key is one.
func (p *parser) noticeUnknown(key string, i, end int) bool {
	at, value := Span{i, end}, p.text[i+len(key)+1:end]
	if !isPlainValue(value) {
		return false
	}
	key = strings.ToLower(key)
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
