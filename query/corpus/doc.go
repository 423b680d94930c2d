// Package corpus defines what a search sees: one state of the index, as one caller sees it.
//
// It answers the question "which documents exist for the caller, and where?". A View has
// Segments, whose documents are at places of Repositories. A Screen hides the repositories
// that a caller may not read. Packages match and search read views; package assist only
// passes them on.
//
// # Invariants
//
//  1. A View does not change until it is released.
//  2. No place that Segment.IsVisible shows belongs to a nil Repository.
//  3. The index of a segment with NoIndex covers text that the caller may not see, so its
//     reader must scan the visible documents instead.
//
// A View and a Screen are safe for concurrent use. The package knows neither how views are
// built nor who the caller is.
package corpus
