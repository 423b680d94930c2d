package syntax

import (
	"fmt"
	"regexp"
	"strings"
)

// nearTerms match the ways in which other search tools ask for two words with at most a
// number of words between them: a NEAR/5 b, a near:5 b and near:5 a b.
var nearTerms = []*regexp.Regexp{
	regexp.MustCompile(`(?:^|\s)(?P<a>\w+)\s+(?:NEAR|near)[/:](?P<n>\d{1,3})\s+(?P<b>\w+)(?:\s|$)`),
	regexp.MustCompile(`^\s*(?:NEAR|near)[/:](?P<n>\d{1,3})\s+(?P<a>\w+)\s+(?P<b>\w+)(?:\s|$)`),
}

// noticeNear adds a notice for a query that asks for two words close together, with the
// expression that finds them on one line.
func (p *parser) noticeNear() {
	if !strings.Contains(p.text, "NEAR") && !strings.Contains(p.text, "near") {
		return
	}
	for _, near := range nearTerms {
		m := near.FindStringSubmatchIndex(p.text)
		if m == nil {
			continue
		}
		span := func(group string) Span { n := near.SubexpIndex(group); return Span{m[2*n], m[2*n+1]} }
		n, a, b := span("n"), span("a"), span("b")
		at := Span{min(a.Start, n.Start-len("near/")), b.End}
		first, second, between := p.text[a.Start:a.End], p.text[b.Start:b.End], fmt.Sprintf(`\W+(?:\w+\W+){0,%s}`, p.text[n.Start:n.End])
		instead := fmt.Sprintf(`regex:"\b%s%s%s\b|\b%[3]s%[2]s%[1]s\b"`, first, between, second)
		message := fmt.Sprintf("%s is read as terms; write %s to find the two words on one line with at most %s words between them.",
			p.showSpan(at), instead, p.text[n.Start:n.End])
		notice := Notice{Code: AmbiguousQuery, At: at, Message: message}
		if corrected := p.replaceSpan(at, instead); corrected != "" {
			notice.Suggestions = []string{corrected}
		}
		p.addNotice(notice)
		return
	}
}
