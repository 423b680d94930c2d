// Package search runs a query on one view of the index.
//
// It answers the question "which files match, where, and in which order?".
// Searcher.Search takes a corpus.View, which the caller acquired, and a Request with the parsed
// query. It returns files with their matches, and the cost of the answer. The query runs as
// it is: package assist, which calls this one, tries readings and gives advice.
//
// # How a query runs
//
// Searcher.runSearch (search.go) runs these steps:
//
//	plan       package match compiles the tree. A searchPlan holds it with the segments that
//	           the query covers, and the order in which they are visited
//	tasks      each tier of each segment is a task, which a goroutine of the search visits
//	           with its segmentSearcher: package match finds the candidates and their
//	           matches, and a taskVisit keeps the hits
//	rank       files are scored, sorted, and cut to the number displayed
//	render     lines, columns and symbols are looked up for the displayed files
//	notices    if nothing was found, notices name filters that select nothing, with
//	           the nearest existing names (notices.go)
//
// # Shards
//
// A View may consist of several shards, which hold the segments of some partitions each
// (NewShards). They do the work on segments in the steps of shardrun.go; everything above,
// from the plan to the notices, is the same code. So are the other
// questions about a view: NameSearch, LocateFrames, MayBeNamed and FindFiles.
//
// # Invariants
//
//  1. An answer equals that of a plain scan under the rules of package plan, cut off
//     where Result.Stopped reports it. Exhaustive is exact.
//  2. The same request on the same view gives the same answer. Each task is one tier of
//     one segment (order.go); tasks run in order, or in parallel with results taken in
//     that order. A document is in one tier.
//  3. Options.MaxMemoryBytes bounds the memory that one search holds, and
//     TotalMemoryBytes that of all searches; MaxDuration bounds time, and MaxScanBytes
//     text.
//  4. Package match calls stop between two pieces of work of at most a millisecond.
//     There a search yields to other searches (internal/admission), and there it ends.
//  5. The parts of a stream have the files of the blocking answer.
//  6. Notices count and suggest only what the view shows.
//  7. For a caller who may not see everything, an answer and the parts of a stream do
//     not depend on which segment holds which document (firstfiles.go).
//  8. For such a caller, the work of a search does not depend on text, paths or symbols
//     that the caller may not see (package match), and a result has no durations.
//  9. An answer does not depend on how the partitions are distributed over shards. If a
//     shard is lost, the answer is not exhaustive and names its partitions.
//
// A Searcher is safe for concurrent use. It knows neither how views are built nor who the
// caller is: a restriction of the caller is part of the query tree.
package search
