package web

import (
	"context"
	"html"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/query/web/internal/codehtml"
	"github.com/quarrysearch/quarry/schemas/code"
)

// maxBlameSubject bounds the subject of a commit next to its lines, in characters.
const maxBlameSubject = 80

// appendBlame appends the lines with the commits that wrote them.
func (s *Server) appendBlame(ctx context.Context, p *codePage, d *codeData, body *fileBody, text *codehtml.Text, shown part, mark codehtml.Range) error {
	blame, err := s.o.Source.Blame(ctx, p.repository, p.commit(), p.Path)
	if err != nil {
		return err
	}
	body.Blamed = true
	w := blameWriter{server: s, page: p, blame: blame, now: s.o.Now()}
	var out []byte
	for _, r := range blame.Ranges {
		first, last := max(r.Start, shown.first), min(r.Start+r.Lines-1, shown.last, text.Lines())
		if first > last {
			continue
		}
		out = w.appendAuthor(out, &r)
		out = codehtml.AppendNumbers(out, first, last)
		out = append(out, `<pre class=t><code>`...)
		out = text.AppendLines(out, first, last, mark)
		out = append(out, "</code></pre></div>\n"...)
	}
	body.Text = markup(out)
	return nil
}

// blameWriter writes the commit information next to the lines.
type blameWriter struct {
	server *Server
	page   *codePage
	blame  *source.Blame
	now    time.Time
}

// appendAuthor opens the element of a range and writes who wrote it, and when.
func (w *blameWriter) appendAuthor(out []byte, r *source.BlameRange) []byte {
	c := w.blame.Commits[r.Commit]
	age := w.now.Sub(c.Time)
	out = append(out, `<div class="chunk blamed age`...)
	out = strconv.AppendInt(out, int64(ageLevel(age)), 10)
	out = append(out, `"><div class=who><a class=subject href="`...)
	out = append(out, html.EscapeString(w.server.public.Resolve(commitAddress(w.page.Repository, r.Commit)))...)
	out = append(out, `" title="`...)
	out = append(out, html.EscapeString(codehtml.SpellHidden(c.AuthorName+", "+formatMoment(c.Time)+": "+c.Subject))...)
	out = append(out, `">`...)
	out = codehtml.AppendText(out, []byte(cutRunes(c.Subject, maxBlameSubject)))
	out = append(out, `</a><span class=by>`...)
	out = codehtml.AppendText(out, []byte(c.AuthorName))
	out = append(out, `</span><time datetime="`...)
	out = c.Time.UTC().AppendFormat(out, time.RFC3339)
	out = append(append(append(out, `">`...), w.server.texts.formatSpan(age)...), `</time>`...)
	if c.Previous != "" && c.PreviousPath != "" {
		before := w.page.commitURL(c.Previous, source.PageBlob, c.PreviousPath) + "?blame=1&L=" + strconv.Itoa(r.Start)
		label := html.EscapeString(w.server.texts.mustFormat("codeBlameBefore"))
		out = append(append(append(out, `<a class=before href="`...), html.EscapeString(w.server.public.Resolve(before))...), `" title="`...)
		out = append(append(append(append(out, label...), `" aria-label="`...), label...), `">‹</a>`...)
	}
	return append(out, `</div>`...)
}

// ageLevel returns the level of an age among six, for a color from new to old.
func ageLevel(age time.Duration) int {
	const day = 24 * time.Hour
	for i, most := range []time.Duration{30 * day, 180 * day, 365 * day, 3 * 365 * day, 8 * 365 * day} {
		if age < most {
			return i
		}
	}
	return 5
}

// commitAddress returns the address of the page of a commit.
func commitAddress(repository string, id code.CommitID) string {
	return source.Address{Repository: repository, Kind: source.PageCommit, Path: string(id)}.String()
}

// cutRunes returns at most n characters of s.
func cutRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}
