package web

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
)

// groupsPath is the page that counts the matches of a query by a property of their files.
const groupsPath = searchPath + "/groups"

// groupings are the properties by which the page counts, in the order of its tabs.
var groupings = []search.FacetName{search.FacetRepository, search.FacetLanguage, search.FacetDirectory, search.FacetExtension}

// groupsData is the data of the page.
type groupsData struct {
	searchParams
	Count, Extent string
	Partial       bool
	ResultsURL    string
	Tabs          []groupTab
	Rows          []groupRow
	More          bool // there are values that the page does not list
}

// groupTab leads to the counts by another property.
type groupTab struct {
	Title, URL string
	Current    bool
}

// groupRow is the count of one value.
type groupRow struct {
	Value, Count, Files string
	URL                 string // the results with this value
	Inner               string // the counts by directory with this value; empty if there are none below it
	Share               int    // of the largest count, in percent
}

// groupsPage counts the matches of a query by repository, language, directory or extension, or
// by the text of a group of its expression. The counts of properties are those of the facets, of
// which the results list fewer values; those of groups are over the matches that are displayed.
func (s *Server) groupsPage(w http.ResponseWriter, v *pageRequest) error {
	p := readSearchParams(v.r)
	if strings.TrimSpace(p.Query) == "" {
		seeOther(w, v, "/")
		return nil
	}
	q, err := s.admitQuery(w, v, &p)
	if refused, ok := errors.AsType[*syntax.Error](err); ok {
		return s.showRefusedQuery(w, v, &p, refused)
	}
	if err != nil {
		return err
	}
	by := search.FacetName(v.r.URL.Query().Get("by"))
	captures := newCaptureCounter(q, by)
	if captures == nil && !slices.Contains(groupings, by) {
		by = groupings[0]
	}
	request := p.request(q)
	request.Display, request.FacetValues, request.WithoutAdvice = 1, search.MaxGroups, true
	takeFiles := func([]search.FileMatch, search.Stats) error { return nil }
	if captures != nil {
		request.Display, request.ContextLines, request.JoinLines, request.Facets = maxMatches, 0, 0, false
		takeFiles = captures.takeFiles
	}
	var d *groupsData
	err = s.o.Search.RunSearch(v.r.Context(), request, takeFiles, func(r *search.Result, reason string) error {
		d = s.newGroupsData(p, q, by, r, reason, captures)
		return nil
	})
	if err != nil {
		return err
	}
	title := s.texts.mustFormat("groupsTitle", "query", titleOf(p.Query))
	return s.renderPage(w, v, view{template: "groups", title: title, data: d, search: &p})
}

// newGroupsData converts the facet of a property, or the counts of a group of an expression.
func (s *Server) newGroupsData(p searchParams, q *syntax.Parsed, by search.FacetName, r *search.Result, reason string, captures *captureCounter) *groupsData {
	if captures == nil {
		if reason == "display limit" || reason == "byte limit" { // the page shows no files
			reason = ""
		}
		r.Stats.Displayed = r.Stats.Matches - 1 // of a result that a limit cuts, as many as the count says
	}
	state := &resultState{searchParams: p, Partial: reason != "", None: r.Stats.Matches == 0}
	state.describeCount(s.texts, r, reason)
	d := &groupsData{searchParams: p, Count: state.Count, Extent: state.Extent, Partial: state.Partial, ResultsURL: p.fresh().URL(p.Query)}
	for _, name := range groupings {
		d.Tabs = append(d.Tabs, groupTab{s.texts.mustFormat("facet_" + string(name)), p.groupsURL(p.Query, name), name == by})
	}
	_, groups := findCaptures(q)
	for group := 1; group <= groups; group++ {
		name := captureName(group)
		d.Tabs = append(d.Tabs, groupTab{s.texts.mustFormat("groupsCapture", "group", string(name)), p.groupsURL(p.Query, name), name == by})
	}
	if captures != nil {
		d.Rows, d.More = s.newCaptureRows(p, q, captures, reason != "" || captures.isCut)
		return d
	}
	i := slices.IndexFunc(r.Facets, func(f search.Facet) bool { return f.Name == by })
	if i < 0 {
		return d
	}
	facet := &r.Facets[i]
	d.More = facet.More
	for j, row := range s.newFacetRows(p, q, r.Facets[i:i+1])[0].Values {
		value := facet.Values[j]
		out := groupRow{
			Value: row.Value, Count: row.Count, Files: s.texts.mustFormat("resultsFiles", "n", value.Files), URL: row.URL,
			Share: 100 * value.Matches / max(facet.Values[0].Matches, 1),
		}
		if row.Chosen {
			out.URL = d.ResultsURL
		} else if by == search.FacetDirectory || by == search.FacetRepository {
			out.Inner = p.groupsURL(addFilter(q, p.Query, value.Filter), search.FacetDirectory)
		}
		d.Rows = append(d.Rows, out)
	}
	return d
}

// newCaptureRows converts the largest counts of a group, and reports whether there are others.
func (s *Server) newCaptureRows(p searchParams, q *syntax.Parsed, captures *captureCounter, isCut bool) (rows []groupRow, more bool) {
	counts := captures.sortCounts()
	for _, c := range counts[:min(len(counts), search.MaxGroups)] {
		value := cmp.Or(c.text, s.texts.mustFormat("groupsEmpty"))
		if strings.TrimSpace(value) == "" {
			value = strconv.Quote(value) // a link of blanks has no name
		}
		row := groupRow{
			Value: value, Count: formatNumber(c.matches), Files: s.texts.mustFormat("resultsFiles", "n", c.files),
			URL: p.fresh().URL(captures.narrowQuery(q, c)), Share: 100 * c.matches / counts[0].matches,
		}
		if isCut {
			row.Count = "≥" + row.Count
		}
		rows = append(rows, row)
	}
	return rows, len(counts) > len(rows)
}

// groupsURL returns the address of the counts of a query by a property.
func (p searchParams) groupsURL(query string, by search.FacetName) string {
	p = p.fresh()
	p.FilesOnly = false
	return fmt.Sprintf("%s?%s&by=%s", groupsPath, strings.TrimPrefix(p.URL(query), searchPath+"?"), url.QueryEscape(string(by)))
}
