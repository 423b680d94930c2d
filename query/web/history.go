package web

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/query/web/internal/codehtml"
)

// historyPageSize is how many commits a page of a history lists.
const historyPageSize = 50

// commitsBody is the data of the page of a history.
type commitsBody struct {
	Author, Since, Until, Query, Lines string // the filters, as typed
	Filtered                           bool
	Wrong                              string // the error of a filter
	Total                              int
	Days                               []commitDay
	Newer, Older                       string
	Compare                            string // where the form of ticked commits leads
}

// commitDay holds the commits of one day in UTC, by the dates of their committers, by which a
// history is sorted.
type commitDay struct {
	Day     string
	Commits []commitRow
}

// commitRow is a commit in a list.
type commitRow struct {
	ID, Short, URL, Browse string
	Subject, Author, Email string
	Body                   string
	Date, Age              string
	Refs                   []string
	// When is Date formatted for people, in UTC.
	When string
}

// readCommits fills in the page of a history.
func (s *Server) readCommits(v *pageRequest, p *codePage) error {
	d, err := s.newCodeData(v.r, p)
	if err != nil {
		return err
	}
	query := v.r.URL.Query()
	body := &commitsBody{Author: query.Get("author"), Since: query.Get("since"), Until: query.Get("until"), Query: query.Get("q"), Lines: query.Get("L")}
	body.Filtered = body.Author+body.Since+body.Until+body.Query+body.Lines != ""
	body.Compare = source.Address{Repository: p.Repository, Kind: source.PageCompare}.String()
	d.Body = body
	d.Links.History = ""
	d.Links.Blob = withPlace(p.pageURL(source.PageBlob, p.Path), "L", codehtml.ParseLines(cmp.Or(query.Get("line"), body.Lines)))
	p.setView("commits", d)
	page, _ := strconv.Atoi(query.Get("page")) // the first page if it is not a number
	page = min(max(page, 1), source.MaxSkippedCommits/historyPageSize)
	request, err := s.newCommitsRequest(p, body)
	if err == nil {
		request.Skip, request.Limit = (page-1)*historyPageSize, historyPageSize
		request.Follow = request.FirstLine == 0 && s.isFile(v, p)
		var commits []source.Commit
		if commits, body.Total, err = s.o.Source.Commits(v.r.Context(), p.repository, request); err == nil {
			body.Days = p.groupByDay(commits, s.texts, s.o.Now())
		}
	}
	if isOneOf(err, source.ErrInvalidPattern, source.ErrMoment, source.ErrNoLine) {
		body.Wrong = sentenceOf(err)
		p.view.status = http.StatusBadRequest
		return nil
	}
	if err != nil {
		return err
	}
	if body.Total == 0 && !body.Filtered && p.Path != "" && page == 1 {
		return source.ErrNoPath // it never existed
	}
	link := func(n int) string {
		query.Set("page", strconv.Itoa(n))
		return p.pageURL(source.PageCommits, p.Path) + "?" + query.Encode()
	}
	if page > 1 {
		body.Newer = link(page - 1)
	}
	if page*historyPageSize < body.Total {
		body.Older = link(page + 1)
	}
	return nil
}

// newCommitsRequest reads the filters of a history.
func (s *Server) newCommitsRequest(p *codePage, body *commitsBody) (source.CommitsRequest, error) {
	q := source.CommitsRequest{Revision: p.commit()}
	q.Path, q.Message, q.Author = p.Path, body.Query, body.Author
	var errs [2]error
	q.Since, errs[0] = source.ParseMoment(body.Since, s.o.Now(), false)
	q.Until, errs[1] = source.ParseMoment(body.Until, s.o.Now(), true)
	if lines := codehtml.ParseLines(body.Lines); !lines.IsEmpty() {
		q.FirstLine, q.LastLine = lines.From.Line, lines.To.Line
	} else if body.Lines != "" {
		errs[0] = source.ErrNoLine
	}
	return q, cmp.Or(errs[0], errs[1])
}

// isFile reports whether the path of a page is a file at its revision.
func (s *Server) isFile(v *pageRequest, p *codePage) bool {
	if p.Path == "" {
		return false
	}
	_, err := s.o.Source.File(v.r.Context(), p.repository, p.commit(), p.Path)
	return err == nil || isOneOf(err, source.ErrBinary, source.ErrTooLarge)
}

// sentenceOf returns the text of an error for readers, without the failed operation.
func sentenceOf(err error) string {
	text := err.Error()
	for _, sentinel := range []error{source.ErrMoment, source.ErrNoLine} {
		if errors.Is(err, sentinel) {
			text = text[max(strings.Index(text, sentinel.Error()), 0):]
		}
	}
	return toSentence(text)
}

// groupByDay groups commits, newest first, by the days on which they were committed.
func (p *codePage) groupByDay(commits []source.Commit, t *texts, now time.Time) []commitDay {
	var days []commitDay
	for _, c := range commits {
		row := p.newCommitRow(c, t, now)
		day := c.CommitDate
		if at, err := time.Parse(time.RFC3339, day); err == nil {
			day = at.UTC().Format("Monday, 2 January 2006")
		}
		if len(days) == 0 || days[len(days)-1].Day != day {
			days = append(days, commitDay{Day: day})
		}
		last := &days[len(days)-1]
		last.Commits = append(last.Commits, row)
	}
	return days
}

// newCommitRow formats a commit for pages.
func (p *codePage) newCommitRow(c source.Commit, t *texts, now time.Time) commitRow {
	row := commitRow{
		ID: string(c.ID), Short: shortCommit(string(c.ID)), URL: commitAddress(p.Repository, c.ID), Browse: p.commitURL(c.ID, source.PageTree, ""),
		Subject: c.Subject, Author: c.AuthorName, Email: c.AuthorEmail, Body: strings.TrimSpace(c.Body), Date: c.Date,
	}
	if p.Path != "" && p.Kind == source.PageCommits {
		row.Browse = p.commitURL(c.ID, source.PageBlob, p.Path)
	}
	row.When = c.Date
	if at, err := time.Parse(time.RFC3339, c.Date); err == nil {
		row.When = formatMoment(at)
		row.Age = t.formatSpan(now.Sub(at))
	}
	for ref := range strings.SplitSeq(c.Refs, ", ") {
		ref = strings.TrimPrefix(strings.TrimPrefix(ref, "HEAD -> "), "tag: ")
		if ref != "" && ref != "HEAD" {
			row.Refs = append(row.Refs, ref)
		}
	}
	return row
}

// withPath returns the address of a difference limited to one file.
func withPath(address, path string) string {
	return address + "?" + url.Values{"path": {path}}.Encode()
}
