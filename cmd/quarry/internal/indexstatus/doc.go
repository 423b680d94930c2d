// Package indexstatus says how far the indexing of a repository is.
//
// It answers the question "is this repository searchable, as of which push, and what is
// still to come?".
//
// # Files
//
//	indexstatus.go  the live version and the log as api.Status
//	pipeline.go     what the workers of this process do, or did last
//	selection.go    which refs the globs of a repository select
//
// # Invariants
//
//  1. What the applied position promises, the counts of the same answer show: the
//     position is read first.
//  2. A status looks at 10,000 records of the log at most for pushes that wait.
//  3. Four requests list the refs of code hosts at once; the others do without.
//
// # Concurrency
//
// Reader and Selector are safe for concurrent use and start nothing.
//
// It does not decide who may see a repository: query/api does.
package indexstatus
