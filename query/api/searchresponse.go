package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"github.com/quarrysearch/quarry/query/api/internal/jsonout"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/pageurl"
)

// searchResponse is the answer of POST /api/search. files are converted and
// written one by one: the answer may be a hundred times a chunk's size.
type searchResponse struct {
	server *Server
	files  []search.FileMatch

	Stats          wire.SearchStats      `json:"stats"`
	RepositoryInfo []wire.RepositoryInfo `json:"repositoryInfo"`
	Exhaustive     bool                  `json:"isSearchExhaustive"`
	// Additions.
	IncompleteReason string              `json:"incompleteReason,omitempty"`
	Notices          []wire.SearchNotice `json:"notices,omitempty"`
	Related          []relatedFiles      `json:"related,omitempty"`
	Facets           []wire.SearchFacet  `json:"facets,omitempty"`
	Explain          *search.Explain     `json:"explain,omitempty"`
}

// relatedFiles is a group of files that may be meant besides those that match.
type relatedFiles struct {
	Reason wire.RelatedReason `json:"reason"`
	Query  string             `json:"query"`
	Files  fileArray          `json:"files"`
}

// fileArray is an array of files as fileWriter writes it.
type fileArray json.RawMessage

// MarshalJSON implements json.Marshaler.
func (l fileArray) MarshalJSON() ([]byte, error) { return l, nil }

func (s *Server) newRelated(groups []search.Related) (out []relatedFiles, err error) {
	for _, g := range groups {
		var b bytes.Buffer
		w := jsonout.New(&b)
		s.writeFileArray(w, g.Files)
		err = errors.Join(err, w.Flush())
		w.Free()
		out = append(out, relatedFiles{wire.RelatedReason(g.Reason), g.Query, b.Bytes()})
	}
	return out, err
}

func (s *Server) newSearchResponse(in *parsedSearch, r *search.Result) (*searchResponse, error) {
	out := &searchResponse{
		server: s, files: r.Files, IncompleteReason: s.incompleteReason(in, r), Facets: newFacets(r.Facets), Explain: r.Explain,
	}
	out.Exhaustive = out.IncompleteReason == ""
	// A query of type:repo or select:repo has no files: repositoryInfo is its answer.
	repositories := repositoryInfos{server: s}
	for _, repository := range r.Repositories {
		repositories.add(repository)
	}
	for i := range r.Files {
		repositories.add(r.Files[i].Repo)
	}
	out.RepositoryInfo = repositories.listInfos()
	out.Stats = newSearchStats(r)
	if out.Explain != nil {
		out.Explain.Stages.Parse = in.took.Microseconds()
	}
	out.Notices = newNotices(r.Notices, in.Query.Notices)
	var err error
	out.Related, err = s.newRelated(r.Related)
	return out, err
}

// newFacets converts facets; nil if there are none.
func newFacets(in []search.Facet) (out []wire.SearchFacet) {
	for _, f := range in {
		values := make([]wire.FacetValue, len(f.Values))
		for i, v := range f.Values {
			values[i] = wire.FacetValue{Value: v.Value, Filter: v.Filter, MatchCount: v.Matches, FileCount: v.Files}
		}
		out = append(out, wire.SearchFacet{Name: wire.SearchFacetName(f.Name), IsComplete: f.Complete, HasMore: f.More, Values: values})
	}
	return out
}

// newNotices converts the notices of a search and of its query, in the order of their places; nil if there are none.
// If there are too many, those of the search remain: the answer may be empty because of what they are about.
func newNotices(ofSearch, ofQuery []syntax.Notice) (out []wire.SearchNotice) {
	notices := slices.Concat(ofSearch, ofQuery)
	notices = notices[:min(len(notices), syntax.MaxNotices)]
	slices.SortStableFunc(notices, func(a, b syntax.Notice) int { return cmp.Compare(a.At.Start, b.At.Start) })
	for _, n := range notices {
		out = append(out, wire.SearchNotice{
			Code: wire.SearchNoticeCode(n.Code), Message: n.Message, Start: n.At.Start, End: n.At.End,
			Parameter: wire.SearchNoticeParameter(n.Parameter), Filter: n.Filter, Suggestions: n.Suggestions, Queries: n.Queries,
		})
	}
	return out
}

// Reasons of an answer in part that the search does not give.
const (
	incompleteDisplay = "display limit"
	incompleteServer  = "server match limit"
	incompleteOther   = "not all was searched"
)

// incompleteReason says why the answer does not hold every match there is; empty
// if it does. With "display limit" totalMatchCount is exact nevertheless.
func (s *Server) incompleteReason(in *parsedSearch, r *search.Result) string {
	switch missing := s.o.Missing(); {
	case missing.Documents > 0 || missing.Refs > 0:
		return "missing documents"
	case r.Exhaustive && r.Stats.Displayed >= r.Stats.Matches:
		return ""
	case r.Stopped == search.StopByteLimit:
		return string(r.Stopped)
	case r.Exhaustive:
		return incompleteDisplay
	case in.capped && r.Stats.Matches >= in.Matches:
		return incompleteServer
	case r.Stopped != "":
		return string(r.Stopped)
	}
	return incompleteOther
}

// repositoryInfos collects those of an answer, in order and once each.
type repositoryInfos struct {
	server *Server
	seen   map[code.RepositoryID]bool
	list   []wire.RepositoryInfo
}

func (l *repositoryInfos) add(r *search.Repository) {
	if l.seen == nil {
		l.seen = make(map[code.RepositoryID]bool)
	}
	if l.seen[r.ID] {
		return
	}
	l.seen[r.ID] = true
	l.list = append(l.list, wire.RepositoryInfo{
		ID: l.server.numberOf(r.ID), CodeHostType: wire.CodeHostType(r.Kind), Name: r.Name, DisplayName: displayName(&r.Repository),
		WebURL: pageurl.New(&r.Repository).RepositoryURL(), IndexedCommitHash: string(r.IndexedCommit),
	})
}

// listInfos is never nil: it is an array in JSON.
func (l *repositoryInfos) listInfos() []wire.RepositoryInfo {
	if l.list == nil {
		return []wire.RepositoryInfo{}
	}
	return l.list
}

func displayName(r *code.Repository) string {
	if r.DisplayName != "" {
		return r.DisplayName
	}
	return r.Name
}

// writeJSON implements streamer.
func (p *searchResponse) writeJSON(out *jsonout.Writer) error {
	return p.server.writeFiles(out, p.files, p)
}

func textRange(r search.Range) wire.Range {
	return wire.Range{Start: wire.Location(r.Start), End: wire.Location(r.End)}
}
