package syntax

import "fmt"

func (p *parser) notice(at Span, message string) {
	if len(p.notices) < MaxNotices {
		p.notices = append(p.notices, Notice{At: at, Message: message})
	}
}

// noticeKeyword is for a word that looks like a filter and is none.
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
		p.notice(at, fmt.Sprintf("%s: is read as text, because no value is attached to it; write %s:value without a blank to filter.", key, key))
	}
	if near := nearKeyword(key); near != "" && keywords[key] == nil && !blank && p.text[colon+1] != ':' && p.text[colon+1] != '/' {
		p.notice(at, fmt.Sprintf("%s: is read as text; the filter is %s:.", key, near))
	}
}

// noticeNot is for a "not" before a bare word, which may be a sentence and not a query.
func (p *parser) noticeNot(items []item) {
	last := items[len(items)-1]
	if len(items) < 2 || !p.isBareWord(last.query, last.at) {
		return
	}
	p.notice(Span{items[0].at.Start, last.at.End},
		fmt.Sprintf("not excludes files with %s; write the phrase in quotes to search for the words.", p.shown(last.at)))
}

// isBareWord tells whether q was written at that place without quotes, parentheses and minus.
func (p *parser) isBareWord(q Query, at Span) bool {
	text, ok := q.(*Text)
	return ok && text.At == at && p.text[at.Start] != '"'
}

// shown is what a notice repeats of the query.
func (p *parser) shown(at Span) string { return shorten(p.text[at.Start:at.End]) }

// noticeScope is for filters that reach only one operand of an or.
func (p *parser) noticeScope(arms []Query) {
	and, ok := arms[0].(*And)
	if !ok || !restricts(and.Children[0]) {
		return
	}
	for _, arm := range arms[1:] {
		if _, ok := arm.(*Text); !ok {
			return
		}
	}
	at := and.Children[0].Span()
	p.notice(at, fmt.Sprintf("%s is about the terms up to the first or only; use parentheses to filter all of them: %[1]s (a or b).", p.shown(at)))
}

// restricts tells whether q is a filter or a negated one.
func restricts(q Query) bool {
	if not, ok := q.(*Not); ok {
		q = not.Child
	}
	switch q.(type) {
	case *File, *Repo, *Language, *Revision, *Archived, *Fork, *Visibility, *Context, *RepoSet:
		return true
	}
	return false
}

// noticeExclusions is for a query that is only a negated term: it finds nearly everything.
func (p *parser) noticeExclusions(root Query) {
	not, ok := root.(*Not)
	if !ok {
		return
	}
	word := Span{not.At.Start + 1, not.At.End}
	if p.text[not.At.Start] == '-' && p.isBareWord(not.Child, word) {
		p.notice(not.At, fmt.Sprintf("a minus excludes; write %q to search for the text.", p.shown(not.At)))
	}
}
