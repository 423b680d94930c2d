package syntax

import (
	"fmt"
	"strings"
)

// unknownFilters are words before a colon that other search tools have for filters, or that people try, with what to write here. A % is replaced by
// the value.
var unknownFilters = map[string]string{
	"ext": "file:*.%", "extension": "file:*.%", "filetype": "file:*.%", "suffix": "file:*.%",
	"filename": "file:%", "dir": "file:%/", "directory": "file:%/", "folder": "file:%/", "in": "file:%",
	"project": "repo:%", "repository": "repo:%", "repos": "repo:%", "org": "repo:%/", "owner": "repo:%/", "user": "repo:%/",
	"ref": "rev:%", "tag": "rev:%",
	"class": "kind:class %", "def": "kind:function %", "func": "kind:function %", "function": "kind:function %",
	"interface": "kind:interface %", "method": "kind:method %", "struct": "kind:struct %",
	"definition": "sym:%", "name": "file:%", "regexp": "regex:%", "pattern": "regex:%", "grep": "regex:%",
}

// notOfQuery are words that are about a request or about history, with where to say so.
var notOfQuery = map[string]string{
	"count":  "how many matches are shown is no part of a query: the API has matches, the command line -n",
	"limit":  "how many matches are shown is no part of a query: the API has matches, the command line -n",
	"max":    "how many matches are shown is no part of a query: the API has matches, the command line -n",
	"author": "a query cannot select authors: use quarry log or the API's commits",
	"since":  "when a line was written is no part of a query: quarry log and the API's commits know dates",
	"until":  "when a line was written is no part of a query: quarry log and the API's commits know dates",
}

// noticeUnknown is for a word that is a filter elsewhere and text here. It reports whether it is one.
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
		message = fmt.Sprintf("%s is read as text, since there is no filter %s:; write %s to filter.", p.showSpan(at), key, instead)
	} else if advice := notOfQuery[key]; advice != "" {
		message = fmt.Sprintf("%s is read as text, since %s.", p.showSpan(at), advice)
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

// isPlainValue reports whether a value looks like one of a filter, and not like code.
func isPlainValue(value string) bool {
	return strings.Trim(value, "*.") != "" && !strings.ContainsFunc(value, func(r rune) bool {
		return r < 0x80 && !isLetter(byte(r)) && !isDigit(byte(r)) && !strings.ContainsRune("_-.*/+#", r)
	})
}

// replaceSpan returns the query with another text at a place; "" if nothing is left of it, or too much to be suggested.
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
