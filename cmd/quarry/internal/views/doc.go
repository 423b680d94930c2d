// Package views presents the live version of the projections to searches, to the file
// view and to the compactor.
//
// It answers the question "what does a query see?". The packages on both sides do not
// know each other: this package turns a places.View into a corpus.View and a
// source.Snapshot.
//
//	Views      views for searches; repositories without a number are hidden
//	Snapshots  files, directories and refs, as source.Index
//	Liveness   live segments and their readers, as compactor.Liveness
//
// # Invariants
//
//  1. A view keeps its version open until it is released.
//  2. The cost of a view grows with the changes since the previous view, not with the
//     number of repositories.
//
// # Concurrency
//
// Views and Snapshots are safe for concurrent use. The values that they return belong to
// the caller.
package views
