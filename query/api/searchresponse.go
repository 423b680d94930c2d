package api

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/query/api/internal/jsonout"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/pageurl"
)

// searchResponse is the response of POST /api/search. It writes its files one at a time
// and without encoding/json, which takes five times as long (BenchmarkFiles) and would
// buffer a response of a hundred times a chunk's size.
type searchResponse struct {
	server *Server
	files  []search.FileMatch

	wire.SearchResult
	Files []wire.SearchFile `json:"files,omitempty"` // none: they are written from files
}

func (s *Server) newRelated(groups []search.Related) (out []wire.RelatedFiles) {
	for _, g := range groups {
		files := make([]wire.SearchFile, len(g.Files))
		for i := range g.Files {
			files[i] = s.newSearchFile(&g.Files[i])
		}
		out = append(out, wire.RelatedFiles{Reason: wire.RelatedReason(g.Reason), Query: g.Query, Files: files})
	}
	return out
}

func (s *Server) newSearchResponse(ctx context.Context, in *parsedSearch, r *search.Result) *searchResponse {
	// A query with type:repo or select:repo returns no files, only repositoryInfo.
	repositories := repositoryInfos{server: s}
	for _, repository := range r.Repositories {
		repositories.add(repository)
	}
	for i := range r.Files {
		repositories.add(r.Files[i].Repo)
	}
	reason := s.incompleteReason(in, r)
	return &searchResponse{server: s, files: r.Files, SearchResult: wire.SearchResult{
		Stats: newSearchStats(r), RepositoryInfo: repositories.listInfos(), IsSearchExhaustive: reason == "", IncompleteReason: reason,
		Position: s.formatPosition(ctx, in.coverage.Next),
		Notices:  newNotices(r.Notices, in.Query.Notices), Related: s.newRelated(r.Related), Facets: newFacets(r.Facets), Explain: newExplain(in, r),
	}}
}

// newExplain converts the explanation of a search, if it was requested.
func newExplain(in *parsedSearch, r *search.Result) wire.SearchExplain {
	e := r.Explain
	if e == nil {
		return wire.SearchExplain{}
	}
	out := wire.SearchExplain{Query: e.Query, Atoms: e.Atoms, AsOf: e.AsOf, Stages: wire.StageTimes(e.Stages), Stopped: string(e.Stopped)}
	if !r.CostsHidden {
		out.Stages.ParseMicros = in.took.Microseconds()
	}
	if e.Segments != nil { // nil becomes null: the index was not searched
		out.Segments = make([]wire.SegmentExplain, len(e.Segments))
	}
	for i := range e.Segments {
		out.Segments[i] = wire.SegmentExplain(e.Segments[i])
	}
	for i := range e.Files {
		out.Files = append(out.Files, wire.FileExplain(e.Files[i]))
	}
	for _, p := range e.Probes {
		out.Probes = append(out.Probes, wire.ProbeExplain(p))
	}
	return out
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

// newNotices converts the notices of a search and of its query, ordered by position; nil
// if there are none. If there are too many, those of the search are kept, because they
// may explain an empty result.
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

// Reasons for a partial result that the search does not set.
const (
	incompleteDisplay = "display limit"
	incompleteServer  = "server match limit"
	incompleteBehind  = "behind the log"
	incompleteMissing = "missing documents"
	incompleteOther   = "not all was searched"
)

// incompleteReason returns why the response does not contain every match; empty if it
// does. With "display limit", totalMatchCount is exact nevertheless.
func (s *Server) incompleteReason(in *parsedSearch, r *search.Result) string {
	gap := s.findGap(in.coverage)
	switch {
	case gap != "":
		return gap
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

// Coverage describes how much of the event log a search sees.
type Coverage struct {
	// Next is the next offset of each partition: the search sees the records below it.
	Next []event.Offset
	// Age is the time since the latest moment of which it is known that the search sees
	// everything that the log held then.
	Age time.Duration
	// Missing is the number of documents that refs name and the view of the search lacks: a
	// process that follows late lacks them between the record that names a segment which was
	// merged away and deleted, and the record of that merge.
	Missing int
}

// findGap returns why a search that sees c may lack matches; empty if it does not.
func (s *Server) findGap(c Coverage) string {
	switch missing := s.o.Missing(); {
	case c.Missing > 0 || missing.Documents > 0 || missing.Refs > 0:
		return incompleteMissing
	case s.isBehind(c):
		return incompleteBehind
	}
	return ""
}

// isBehind reports whether a search that sees c may lack what was pushed and indexed
// longer than Options.MaxLag ago.
func (s *Server) isBehind(c Coverage) bool { return s.o.MaxLag > 0 && c.Age > s.o.MaxLag }

// repositoryInfos collects the repositories of a response, in order and without
// duplicates.
type repositoryInfos struct {
	server *Server
	seen   map[code.RepositoryID]bool
	list   []wire.RepositoryInfo
}

func (l *repositoryInfos) add(r *corpus.Repository) {
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

// listInfos never returns nil: it is an array in JSON.
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
