package web

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/indexing"
)

// resultState is the summary of a search on a page: how much was found, whether that is
// all, what else may be meant, and how to continue.
type resultState struct {
	searchParams
	Count    string // "1,204 matches in 310 files"
	Extent   string // "all of them", or why not
	Partial  bool
	Took     string
	Fresh    string
	Level    string // of Fresh: ok, warn, bad
	None     bool   // nothing was found
	Advice   string // what to do if the result is partial
	MoreURL  string
	More     string
	Notices  []noticeRow
	Facets   []*facetRow
	Narrow   []facetLink // the filters that narrow most, if the result is cut
	Related  []relatedRow
	Switches []facetLink // other ways to search, if nothing was found
	Explain  *explainRow

	ViewURL, ExplainURL string
	SaveURL             string // saves the query under a name; empty for visitors without an account
	RankURL             string // the files sorted by rank; empty if they are

	Repositories []*corpus.Repository // for a query that finds repositories
}

// noticeRow is a notice about the query, with other queries as links.
type noticeRow struct {
	Message string
	Links   []facetLink
	Quiet   bool // it compares with another server, which interests few readers
}

// facetLink is a link to another search.
type facetLink struct{ Text, URL string }

// facetRow is a facet on the page.
type facetRow struct {
	Name, Title string
	Values      []facetValueRow
	More        bool
	GroupsURL   string // counts by all values; empty if there is no such page
}

// shownFacetValues are shown of a facet before the others are unfolded.
const shownFacetValues = 8

// First returns the values that are always shown; templates call it.
func (f *facetRow) First() []facetValueRow { return f.Values[:min(len(f.Values), shownFacetValues)] }

// Rest returns the other values; templates call it.
func (f *facetRow) Rest() []facetValueRow { return f.Values[len(f.First()):] }

type facetValueRow struct {
	Value, Count string
	URL, NotURL  string // NotURL excludes the value
	Chosen       bool   // the query contains the filter; URL removes it
}

// relatedRow is a group of files that may also be meant.
type relatedRow struct {
	Title, Query, URL string
	Markup            template.HTML // of fileWriter
}

// explainRow shows how the search was run.
type explainRow struct {
	Query  string
	Stages []stageRow
	Atoms  []string
	Rows   []search.SegmentExplain
	Files  []search.FileExplain
}

type stageRow struct {
	Name   string
	Micros int
	Share  int // in percent
}

// describeResult fills in the summary of a finished search.
func (s *Server) describeResult(p searchParams, q *syntax.Parsed, r *search.Result, reason string, took time.Duration) *resultState {
	d := &resultState{searchParams: p, None: r.Stats.Matches == 0, Partial: reason != "", Repositories: r.Repositories}
	if r.CostsHidden {
		r.Stats.Duration = took.Round(time.Second)
	} else {
		d.Took = formatTook(took)
	}
	d.describeCount(s.texts, r, reason)
	other, explained := p, p
	other.FilesOnly, explained.Explain = !p.FilesOnly, true
	d.ViewURL, d.ExplainURL = other.URL(p.Query), explained.URL(p.Query)
	d.Notices = s.newNoticeRows(p, append(append([]syntax.Notice{}, r.Notices...), q.Notices...))
	d.Facets = s.newFacetRows(p, q, r.Facets)
	if d.None {
		d.Switches = s.otherSwitches(p, q)
	}
	if d.Partial {
		d.Narrow = selectNarrowest(d.Facets)
	}
	for _, g := range r.Related {
		w := s.newFileWriter(false)
		for i := range g.Files {
			w.writeFile(&g.Files[i])
		}
		d.Related = append(d.Related, relatedRow{s.texts.mustFormat("related_" + string(g.Reason)), g.Query, p.fresh().URL(g.Query), template.HTML(w.out)})
	}
	if r.Explain != nil {
		d.Explain = newExplainRow(r.Explain)
		if r.CostsHidden {
			d.Explain.Stages = nil
		}
	}
	return d
}

// describeCount describes how many matches there are and whether that is all.
func (d *resultState) describeCount(t *texts, r *search.Result, reason string) {
	st := &r.Stats
	matches, files := st.Matches, st.Files
	switch {
	case len(r.Repositories) > 0:
		d.Count = t.mustFormat("resultsRepositories", "n", len(r.Repositories))
	case reason == string(search.StopMatchLimit) || reason == "server match limit":
		d.Count = t.mustFormat("resultsMoreThan", "n", matches-1)
	default:
		d.Count = t.mustFormat("resultsCount", "n", matches, "files", t.mustFormat("resultsFiles", "n", files))
	}
	switch reason {
	case "":
		d.Extent = t.mustFormat("resultsAll")
		if d.None {
			d.Extent = ""
		}
	case "display limit", "byte limit", string(search.StopMatchLimit):
		d.Extent = t.mustFormat("resultsFirst", "n", st.Displayed)
		if more := min(10*d.Matches, maxMatches); more > d.Matches && reason != "byte limit" {
			p := d.searchParams
			p.Matches = more
			d.MoreURL, d.More = p.URL(p.Query), t.mustFormat("resultsShow", "n", more)
		}
		d.Advice = t.mustFormat("adviceNarrow")
		if reason == "byte limit" {
			d.Advice = t.mustFormat("adviceBytes")
		}
	case "server match limit":
		d.Extent, d.Advice = t.mustFormat("resultsFirst", "n", st.Displayed), t.mustFormat("adviceNarrow")
	case "time limit", "scan limit", "memory limit":
		d.Extent, d.Advice = t.mustFormat("resultsStopped", "time", formatTook(st.Duration)), t.mustFormat("adviceCheaper")
	case "missing documents", "damaged index":
		d.Extent, d.Advice = t.mustFormat("resultsIncomplete"), t.mustFormat("adviceMissing")
	case string(search.StopShardLost):
		d.Extent, d.Advice = t.mustFormat("resultsIncomplete"), t.mustFormat("adviceLost")
	case "behind the log":
		d.Extent, d.Advice = t.mustFormat("resultsIncomplete"), t.mustFormat("adviceBehind")
	default:
		d.Extent = reason
	}
}

// formatTook formats a duration for people.
func formatTook(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// Ages of the oldest waiting push from which on a page highlights it.
const (
	staleWarning = time.Minute
	staleFailure = 15 * time.Minute
)

// describeFreshness describes how far the index is behind.
func (d *resultState) describeFreshness(t *texts, f indexing.Summary, now time.Time) {
	switch age := now.Sub(f.OldestAt); {
	case f.Importing != "":
		d.Fresh, d.Level = t.mustFormat("freshImporting", "repository", f.Importing, "files", f.Files, "total", f.FilesTotal), "warn"
	case f.Waiting > 0 && !f.OldestAt.IsZero():
		d.Level = "ok"
		if age >= staleFailure {
			d.Level = "bad"
		} else if age >= staleWarning {
			d.Level = "warn"
		}
		d.Fresh = t.mustFormat("freshWaiting", "n", f.Waiting, "age", t.formatSpan(age))
	case f.Failed != "":
		d.Fresh, d.Level = t.mustFormat("freshFailed", "repository", f.Failed), "bad"
	case !f.IndexedAt.IsZero():
		d.Fresh, d.Level = t.mustFormat("freshCurrent", "age", t.formatSpan(now.Sub(f.IndexedAt))), "ok"
	}
}

// newNoticeRows converts notices. Queries become links; so do suggestions that are
// queries.
func (s *Server) newNoticeRows(p searchParams, notices []syntax.Notice) (rows []noticeRow) {
	for _, n := range notices[:min(len(notices), syntax.MaxNotices)] {
		row := noticeRow{Message: n.Message, Quiet: n.Code == syntax.DifferentMeaning}
		queries := n.Queries
		if len(queries) == 0 && (n.Code == syntax.DifferentMeaning || n.Code == syntax.PastedText || n.Code == syntax.AmbiguousQuery) {
			queries = n.Suggestions
		}
		for _, q := range queries {
			row.Links = append(row.Links, facetLink{q, p.fresh().URL(q)})
		}
		rows = append(rows, row)
	}
	return rows
}

// otherSwitches returns other ways to search if nothing was found.
func (s *Server) otherSwitches(p searchParams, q *syntax.Parsed) (links []facetLink) {
	add := func(key string, p searchParams) {
		links = append(links, facetLink{s.texts.mustFormat(key), p.fresh().URL(p.Query)})
	}
	if p.Case {
		other := p
		other.Case = false
		add("switchCaseOff", other)
	}
	if p.Regexp {
		other := p
		other.Regexp = false
		add("switchRegexpOff", other)
	} else if strings.ContainsAny(p.Query, `\[]|*+?`) {
		other := p
		other.Regexp = true
		add("switchRegexpOn", other)
	}
	if !syntax.HasRevision(q.Root) {
		other := p
		other.Query = addFilter(q, p.Query, "rev:*")
		add("switchBranches", other)
	}
	return links
}

// newExplainRow converts the stages to a bar.
func newExplainRow(e *search.Explain) *explainRow {
	st := &e.Stages
	row := &explainRow{Query: e.Query, Atoms: e.Atoms, Rows: e.Segments, Files: e.Files}
	total := max(st.ParseMicros+st.WaitMicros+st.PlanMicros+st.CandidatesMicros+st.VerifyMicros+st.RankMicros+st.RenderMicros, 1)
	for _, stage := range []struct {
		name   string
		micros int64
	}{{"parse", st.ParseMicros}, {"wait", st.WaitMicros}, {"plan", st.PlanMicros}, {"candidates", st.CandidatesMicros}, {"verify", st.VerifyMicros}, {"rank", st.RankMicros}, {"render", st.RenderMicros}} {
		row.Stages = append(row.Stages, stageRow{stage.name, int(stage.micros), int(100 * stage.micros / total)})
	}
	return row
}
