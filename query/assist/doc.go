// Package assist answers requests as their writer meant them.
//
// It answers the question "what did the user mean?". Searcher has the signature of the
// engine, search.Searcher, which it calls once or several times for a request, and which
// never calls it:
//
//	predicates repositories and rules of owners that the query depends on are searched for
//	           first (predicates.go, owners.go)
//	readings   pasted text runs as each of its readings, one query after another, until one
//	           has a match (reread.go, readmessage.go, readtrace.go). An expression between
//	           slashes runs as such if its text has no match (expressions.go). A qualified
//	           name also means definitions (qualified.go). If the words of a sentence are
//	           nowhere close together, the answer has the files with most of them (prose.go)
//	advice     if nothing was found, notices name the terms without a match, and names near
//	           them (advice.go)
//	related    files that may be meant in addition to those that match follow the answer
//	           (related.go)
//
// All of this takes only searches and a few questions about a view, such as
// search.NameSearch, so it is the same for a view of several shards.
//
// # Invariants
//
//  1. All counts of an answer refer to a single query, which a notice names if it is not the
//     literal one.
//  2. Each further search has a time limit, which is a share of search.Options.MaxDuration.
//     If it fails, the answer lacks what it would have added, or the request fails. It never
//     says that nothing was found.
//  3. Advice and related files use only what the view shows.
//  4. An answerer lives as long as one request, and belongs to one goroutine.
//
// A Searcher is safe for concurrent use.
package assist
