// Package indexstatus reports the progress of indexing a repository.
//
// It answers the question "is this repository searchable, as of which push, and what is
// still pending?".
//
// # Files
//
//	indexstatus.go  the status from the live version and the log
//	pipeline.go     the current or last work of this process's pipeline
//	selection.go    which refs the globs of a repository select
//
// # Invariants
//
//  1. The counts of a response are at least as new as its applied position, because the
//     position is read first.
//  2. A status reads at most 10,000 records of the log to find waiting pushes.
//  3. At most four requests list the refs of code hosts at a time; more requests get no
//     selection.
//
// # Concurrency
//
// Reader and Selector are safe for concurrent use and start no goroutine.
//
// This package does not decide who may see a repository: query/api does.
package indexstatus
