package api

import (
	"github.com/quarrysearch/quarry/query/search"
)

// searchStats are the 21 members of stats. Each is counted, or says why it
// cannot be other than it is; docs/api.md tells them to users. Times are
// nanoseconds.
type searchStats struct {
	// ActualMatchCount counts the matches in the answer, TotalMatchCount those that
	// were found: at most one more than was asked for.
	ActualMatchCount int `json:"actualMatchCount"`
	TotalMatchCount  int `json:"totalMatchCount"`
	// Duration is the whole search, with Wait and the making of the answer.
	Duration int64 `json:"duration"`
	// FileCount counts files with a match.
	FileCount int `json:"fileCount"`
	// FilesSkipped counts candidates that were not looked at because the search
	// had ended.
	FilesSkipped       int   `json:"filesSkipped"`
	ContentBytesLoaded int64 `json:"contentBytesLoaded"`
	IndexBytesLoaded   int64 `json:"indexBytesLoaded"`
	// Crashes is 0: a search that fails is answered by an error, never by a part
	// of its answer.
	Crashes int `json:"crashes"`
	// ShardFilesConsidered and FilesConsidered are one figure here: candidates are
	// found segment by segment, and each is considered once.
	ShardFilesConsidered int `json:"shardFilesConsidered"`
	FilesConsidered      int `json:"filesConsidered"`
	FilesLoaded          int `json:"filesLoaded"`
	// A shard is a segment. ShardsSkippedFilter counts those that a filter ruled
	// out, ShardsSkipped those that were left out for another reason: the index
	// has no match there, or the search had ended.
	ShardsScanned       int `json:"shardsScanned"`
	ShardsSkipped       int `json:"shardsSkipped"`
	ShardsSkippedFilter int `json:"shardsSkippedFilter"`
	NgramMatches        int `json:"ngramMatches"`
	NgramLookups        int `json:"ngramLookups"`
	// Wait is the time until the search could begin, MatchTreeConstruction that of
	// planning, MatchTreeSearch that of searching.
	Wait                  int64 `json:"wait"`
	MatchTreeConstruction int64 `json:"matchTreeConstruction"`
	MatchTreeSearch       int64 `json:"matchTreeSearch"`
	RegexpsConsidered     int   `json:"regexpsConsidered"`
	// FlushReason is flushReasonFinal, for a blocking search answers once, at its
	// end, but for the parts of a stream.
	FlushReason string `json:"flushReason"`
}

const (
	flushReasonFinal = "FLUSH_REASON_FINAL_FLUSH"
	// flushReasonPart is that of a part: its size, or there is no more for now.
	flushReasonPart = "FLUSH_REASON_UNKNOWN_UNSPECIFIED"
)

func newSearchStats(r *search.Result) searchStats {
	st := &r.Stats
	return searchStats{
		ActualMatchCount:      st.Displayed,
		TotalMatchCount:       st.Matches,
		Duration:              st.Duration.Nanoseconds(),
		FileCount:             st.Files,
		FilesSkipped:          st.FilesSkipped,
		ContentBytesLoaded:    st.ContentBytes,
		IndexBytesLoaded:      st.IndexBytes,
		ShardFilesConsidered:  st.FilesConsidered,
		FilesConsidered:       st.FilesConsidered,
		FilesLoaded:           st.FilesLoaded,
		ShardsScanned:         st.Segments,
		ShardsSkipped:         st.SegmentsSkipped - st.SegmentsFiltered,
		ShardsSkippedFilter:   st.SegmentsFiltered,
		NgramMatches:          st.TrigramMatches,
		NgramLookups:          st.TrigramLookups,
		Wait:                  st.Wait.Nanoseconds(),
		MatchTreeConstruction: st.Planning.Nanoseconds(),
		MatchTreeSearch:       st.Searching.Nanoseconds(),
		RegexpsConsidered:     st.RegexpsConsidered,
		FlushReason:           flushReasonFinal,
	}
}
