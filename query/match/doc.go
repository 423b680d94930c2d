// Package match finds the matches of a query in one segment at a time.
//
// It answers the question "does this document match, and where?". Compile turns a query into
// nodes over two kinds of leaves: Atoms, which are patterns in text or among symbols that the
// index helps to find; and Predicates on places (repository, ref, path, language), which are
// columns in memory. A Scope is a query on the repositories and refs of one view.
//
//	candidates for each segment, each atom gets a set of blocks that may contain a match: the
//	           rarest trigrams are intersected as long as that is cheaper than scanning the
//	           text. A Finder walks the documents that may match by leaping from one to the
//	           next (a leapfrog join over the block sets and the predicates)
//	verify     a Matcher searches the text of the candidate blocks; only a match in the text
//	           counts. For a query with one pattern, a blockScanner does so across documents
//	relevance  a Matcher also computes the part of a score that depends on the matches in a
//	           document, and orders them by their lines
//
// What decides which documents are visited, in which order and until when, is above: package
// search.
//
// # Lifetimes
//
// A Query and a Scope live as long as a search. They are written before the first segment is
// opened, and between the phases of a search (Scope.Rarity, Ranker, MeansTests). A Finder and a
// Matcher live as long as a search and belong to one of its goroutines; their fields for the
// current segment are written by OpenSegment, those for the current document by the methods
// for it. Candidates are those of one segment. They may be kept, shared between goroutines and
// given to another Finder, so nothing writes them after their lookup: KeepPlaces copies them.
//
// # Invariants
//
//  1. Candidates may be too many, never too few.
//  2. A Finder and a Matcher call stop between two pieces of work of at most a millisecond, and
//     end if it returns true.
//  3. The index of a segment with NoIndex is not read (noindex.go).
package match
