// Package views shows the live version of the projections to searches and to the file
// view.
//
// It answers the question "what does a query see?". The sides do not know each other:
// places.View becomes a search.View here, and a source.Snapshot.
//
//	Views      views for searches; repositories without a number are hidden
//	Snapshots  files, directories and refs, as source.Index
//
// # Invariants
//
//  1. A view keeps its version open until it is released.
//  2. What a view costs grows with what has changed since the one before, not with the
//     repositories.
//
// # Concurrency
//
// Views and Snapshots are safe for concurrent use; what they return belongs to the caller.
package views
