package syntax

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// nearTerms match the ways in which other search tools ask for two words with at most a
// number of words between them: a NEAR/5 b, a near:5 b and near:5 a b.
var nearTerms = []*regexp.Regexp{
	regexp.MustCompile(`(?:^|\s)(?P<a>\w+)\s+(?:NEAR|near)[/:](?P<n>\d{1,3})\s+(?P<b>\w+)(?:\s|$)`),
	regexp.MustCompile(`^\s*(?:NEAR|near)[/:](?P<n>\d{1,3})\s+(?P<a>\w+)\s+(?P<b>\w+)(?:\s|$)`),
}

// ReadNear returns the query in which two words that are wanted close together are an
// expression for both on one line, and the number of words that may be between them; nil if
// there are no such words.
func (q *Parsed) ReadNear() (near *Parsed, between int) {
	if !strings.Contains(q.Text, "NEAR") && !strings.Contains(q.Text, "near") || strings.Contains(q.Text, `"`) {
		return nil, 0
	}
	for _, expression := range nearTerms {
		m := expression.FindStringSubmatchIndex(q.Text)
		if m == nil {
			continue
		}
		span := func(group string) Span { n := expression.SubexpIndex(group); return Span{m[2*n], m[2*n+1]} }
		n, a, b := span("n"), span("a"), span("b")
		first, second := q.Text[a.Start:a.End], q.Text[b.Start:b.End]
		between, _ = strconv.Atoi(q.Text[n.Start:n.End]) // up to three digits
		gap := fmt.Sprintf(`\W+(?:\w+\W+){0,%d}`, between)
		instead := fmt.Sprintf(`regex:"\b%s%s%s\b|\b%[3]s%[2]s%[1]s\b"`, first, gap, second)
		return q.parseOther(q.Text[:min(a.Start, n.Start-len("near/"))] + instead + q.Text[b.End:]), between
	}
	return nil, 0
}
