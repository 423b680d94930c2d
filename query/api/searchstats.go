package api

import (
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

const (
	// flushReasonFinal is the reason of a blocking search, which responds once, at its
	// end.
	flushReasonFinal = wire.SearchStatsFlushReasonFLUSHREASONFINALFLUSH
	// flushReasonPart is the reason of a part: it is full, or there is no more for now.
	flushReasonPart = wire.SearchStatsFlushReasonFLUSHREASONUNKNOWNUNSPECIFIED
)

// newSearchStats returns the 21 members of stats. Each is either counted, or the document
// explains why its value is fixed.
func newSearchStats(r *search.Result) wire.SearchStats {
	st := &r.Stats
	return wire.SearchStats{
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
