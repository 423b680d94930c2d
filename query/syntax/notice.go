package syntax

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// NoticeCode identifies the kind of a Notice.
type NoticeCode string

// The codes of notices.
const (
	// AmbiguousQuery marks a part that was read one way although another was likely
	// meant.
	AmbiguousQuery NoticeCode = "AMBIGUOUS_QUERY"
	// DifferentMeaning marks a query that means something else to the established server.
	DifferentMeaning NoticeCode = "DIFFERENT_MEANING"
	// FilterSelectsNothing marks a filter that leaves nothing to search or, negated,
	// excludes nothing.
	FilterSelectsNothing NoticeCode = "FILTER_SELECTS_NOTHING"
	// TermFindsNothing marks a term without a match in a search that found nothing.
	TermFindsNothing NoticeCode = "TERM_FINDS_NOTHING"
	// PastedText marks a query that was read as pasted text: code, an error message or a
	// stack trace.
	PastedText NoticeCode = "PASTED_TEXT"
	// RelatedMatches marks a term that files also contain in other forms; these matches
	// follow the results.
	RelatedMatches NoticeCode = "RELATED_MATCHES"
	// PositionWithoutSymbol marks a request whose symbol is not at the given position.
	PositionWithoutSymbol NoticeCode = "POSITION_WITHOUT_SYMBOL"
)

// Notice reports that a valid query may not mean what its writer intended.
type Notice struct {
	Code    NoticeCode
	At      Span // the part that the notice is about
	Message string
	// Parameter is the parameter that the notice is about, such as language, in a request
	// without a query; At is then a part of its value. It is empty for a search.
	Parameter string
	// Filter is the filter that the notice is about, as printed; empty if there is none.
	Filter string
	// Suggestions are at most MaxSuggestions. For DifferentMeaning they hold the query
	// that has the established server's meaning here, for PastedText the query for the
	// literal meaning, for AmbiguousQuery likely intended queries, and otherwise likely
	// intended names for the value of the filter.
	Suggestions []string
	// Queries are, if Suggestions are names, the queries with each name in place.
	Queries []string
}

func (p *parser) noticeAmbiguous(at Span, message string) {
	p.addNotice(Notice{Code: AmbiguousQuery, At: at, Message: message})
}

func (p *parser) addNotice(n Notice) {
	if len(p.notices) < MaxNotices {
		p.notices = append(p.notices, n)
	}
}

// noticeKeyword adds a notice for a word that looks like a filter but is not one.
func (p *parser) noticeKeyword(i, end int) {
	const longest = 16
	colon := i
	for colon < min(end, i+longest) && isLetter(p.text[colon]) {
		colon++
	}
	if colon == i || colon >= end || p.text[colon] != ':' {
		return
	}
	key, at := p.text[i:colon], Span{i, colon + 1}
	blank := p.endsToken(colon+1, end)
	if keywords[key] != nil && blank {
		p.noticeAmbiguous(at, fmt.Sprintf("%s: is read as text because no value follows it; to filter, write %s:value without a blank.", key, key))
	}
	if key == "select" && !blank {
		word := p.wordEnd(i, end)
		p.noticeForeignValue(key, Span{i, word}, p.text[colon+1:word])
	}
	if keywords[key] != nil || blank || p.text[colon+1] == ':' || p.text[colon+1] == '/' {
		return
	}
	if p.noticeUnknown(key, i, p.wordEnd(i, end)) {
		return
	}
	if near := nearKeyword(key); near != "" {
		n := Notice{Code: AmbiguousQuery, At: at, Message: fmt.Sprintf("%s: is read as text; the filter is %s:.", key, near)}
		if corrected := p.replaceSpan(at, near+":"); corrected != "" {
			n.Suggestions = []string{corrected}
		}
		p.addNotice(n)
	} else if p.text[colon+1] == '(' {
		p.noticeGroupOfWord(key, i, p.wordEnd(i, end))
	}
}

// noticeUnclosed adds a notice if the query begins with a quote or parenthesis that nothing
// closes, or ends with a parenthesis that closes nothing: they are read as text.
func (p *parser) noticeUnclosed() {
	text := strings.TrimSpace(p.text)
	if p.o.Regexp || strings.Contains(text, "\n") {
		return // an expression or code, in which brackets are text
	}
	at, words := strings.Index(p.text, text), strings.Trim(text, `"() `)
	message := ""
	switch {
	case !strings.ContainsFunc(words, unicode.IsLetter):
		return
	case text[0] == '"' && strings.Count(text, `"`) == 1:
		message, words = "The quote is read as text because nothing closes it.", `"`+words+`"`
	case text[0] == '(' && strings.Count(text, "(") == 1 && !strings.ContainsAny(text, `")`):
		message = "The parenthesis is read as text because nothing closes it."
	case strings.HasSuffix(text, ")") && strings.Count(text, ")") == 1 && !strings.ContainsAny(text, `"(`):
		message, at = "The parenthesis is read as text because it closes nothing.", at+len(text)-1
	default:
		return
	}
	p.addNotice(Notice{Code: AmbiguousQuery, At: Span{at, at + 1}, Message: message, Suggestions: []string{words}})
}

// showSpan returns a part of the query for a notice, on one line.
func (p *parser) showSpan(at Span) string { return showOnLine(p.text[at.Start:at.End]) }

// showOnLine truncates a text and escapes its control characters: a notice is one line.
func showOnLine(s string) string {
	s = shortenPattern(s)
	if !strings.ContainsFunc(s, unicode.IsControl) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unicode.IsControl(r) {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// noticeScope adds a notice for filters that apply to only one operand of an or.
func (p *parser) noticeScope(arms []Query) {
	and, ok := arms[0].(*And)
	if !ok || !isRestriction(and.Children[0]) {
		return
	}
	for _, arm := range arms[1:] {
		if _, ok := arm.(*Text); !ok {
			return
		}
	}
	at := and.Children[0].Span()
	p.noticeAmbiguous(at, fmt.Sprintf("%s applies only to the terms before the first or; use parentheses to apply it to all of them: %[1]s (a or b).", p.showSpan(at)))
}

// isRestriction reports whether q is a filter or a negated filter.
func isRestriction(q Query) bool {
	if not, ok := q.(*Not); ok {
		q = not.Child
	}
	switch q.(type) {
	case *File, *Repo, *Language, *Revision, *Archived, *Fork, *Visibility, *Context, *RepoSet, *RepoHas, *FileHas, *Owned, *Is, *Kinds, *Line:
		return true
	}
	return false
}
