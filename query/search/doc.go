// Package search runs a query on one view of the index.
//
// It answers the question "which files match, where, and in which order?".
// Searcher.Search takes a View, which the caller acquired, and a Request with
// the parsed query; it returns files with their matches, and what the answer
// cost.
//
// # How a query runs
//
// Searcher.runSearch (search.go) tells it in this order:
//
//	plan       the tree becomes nodes over two kinds of leaves: atoms, patterns
//	           in text or among symbols, which the index helps to find; and
//	           predicates on places (repository, ref, path, language), which are
//	           columns in memory. A searchPlan has them with the segments that the
//	           query is about, and the order in which they are visited
//	candidates for each segment, each atom gets a set of blocks that may hold a
//	           match: the rarest trigrams are intersected as long as that is
//	           cheaper than looking at the text. A candidateFinder walks the
//	           documents that may match by leaping from one to the next (a leapfrog
//	           join over the block sets and the predicates)
//	verify     a documentMatcher searches the text of the candidate blocks; only what
//	           matches there is a match. For a query with one pattern a blockScanner
//	           does so for all documents at once. A segmentSearcher keeps the hits
//	rank       files are scored and sorted, and cut to what is displayed
//	render     lines, columns and symbols are looked up for what is displayed
//	readings   a query that is something pasted is run as what it may mean, one
//	           query after the other until one has a match (reread.go)
//	notices    if nothing was found, filters that select nothing are named, with
//	           the nearest names there are (notices.go), or else terms without a
//	           match, with the names near them (advice.go, nearnames.go)
//
// # Invariants
//
//  1. An answer is that of a plain scan with the rules of package plan, cut off
//     where Result.Stopped says so. Exhaustive is exact.
//  2. The same request on the same view gives the same answer: tasks, a
//     tier of a segment each (order.go), are done in their order, or in parallel
//     with results taken in that order. A document is in one tier.
//  3. What a search holds is bounded by Options.MaxMemoryBytes, what all of them
//     hold by TotalMemoryBytes; time by MaxDuration, text by MaxScanBytes.
//  4. A segmentSearcher calls stop between two pieces of work of at most a millisecond: there
//     it gives way to other searches (internal/admission), and there it ends.
//  5. The parts of a stream have the files of the blocking answer.
//  6. Notices count and suggest only what the view shows.
//  7. For a caller who may not see everything, an answer and the parts of a stream do
//     not depend on which segment has which document (firstfiles.go).
//
// A Searcher is safe for concurrent use. It does not know how views come to be,
// nor who is asking: a restriction of the caller is part of the query tree.
package search
