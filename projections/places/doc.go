// Package places is the projection of the places of documents: it maps each path of each
// ref of each repository to a document in a segment.
//
// It answers the questions "which documents exist, and where, at one point in time?" and
// "which documents are no longer referenced?". The main types are Places (the
// projection), View (a consistent snapshot for queries), Repository and Ref (their state
// in a View) and Place (one file of a ref).
//
//	RevisionIndexed ──► manifest of the ref ──► counts and locations of documents ──► places of the default branch
//	                    (entries by path)       (content → segment, number)           (columns per segment, in the View)
//
// # Keys
//
// All keys begin with the family 'p'. Integers are big-endian; ^version orders
// newer versions first. docs/format/places.md describes the values.
//
//	p R repository(8)                                        → repository, default branch, JSON
//	p t repository(8)                                        → removed: repository, without its names, JSON
//	p r repository(8) ref                                    → ref: commit, manifest, counts, JSON
//	p m repository(8) manifest(4)                            → manifest: version, parent, JSON
//	p n repository(8) parent(4) version(4) child(4)          → pin: child reads parent as of version
//	p e repository(8) manifest(4) path 00 ^version(4)        → entry: document, skipped file or tombstone
//	p k repository(8) manifest(4) path 00 ^version(4)        → kept: the version that superseded the entry
//	p b repository(8) ref                                    → broken: an event that could not be applied, JSON
//	p d partition(4) blob(20) language                       → document: count of entries, holders
//	p u partition(4) blob(20) language                       → unheld: a document that no segment holds
//	p S partition(4) sequence(4)                             → segment, JSON
//	p i partition(4) segment ID(16)                          → sequence(4)
//	p o partition(4) sequence(4)                             → origins: repository(8) …, ascending
//	p q partition(4)                                         → next sequence(4)
//	p h partition(4) segment ID(16)                          → held: its object is never deleted
//	p g partition(4) segment ID(16)                          → gone: it was merged away
//	p l partition(4) sequence(4) document(4) repository(8) path            → flags: a place on a default branch
//	p w partition(4) blob(20) size(1) language repository(8) path          → flags: the same, of an unheld document
//	l x partition(4) offset(8) number(4)                     → segment ID(16): object to delete; mark(8), if it has one
//	l r partition(4) sequence(4)                             → time(8): since then it contains text that a removal left
//	l e partition(4) offset(8)                               → erasure requested in the log, and its local result, JSON
//
// # Invariants
//
//  1. Rows depend only on records, and on content-addressed objects.
//  2. A manifest is a timeline: version v of a path is its newest entry at or below v or,
//     without one, the entry of the parent at the pinned version. An entry older than the
//     newest exists only while a pin needs it, and then has a 'k' row.
//  3. The count of a document is the number of entries that name it. A row 'd'
//     exists while the count is above zero or a segment holds the document.
//  4. The location of a document is its holder with the lowest sequence, so it depends
//     only on the set of holders, not on the order in which they were added.
//  5. Every entry visible on a default branch has exactly one row 'l' at the
//     document's location, or 'w' if it has none.
//  6. A merge never removes the last holder of a document with a count; it is refused
//     instead. If its output was already merged further and deleted, the documents are
//     unheld until that later merge is applied.
//  7. The origins of a segment are all repositories that brought its documents, dead ones
//     included: those of a merge's inputs, or none if some of them are not known.
//  8. A View is immutable. A segment is excised, and its object deleted, only when no
//     View references it and the change that dropped it is durable. Objects are deleted
//     in the order in which their segments were dropped, and the merge of a segment whose
//     object stays has a mark in the segment store, so that a rebuild from the log that
//     lacks a later segment knows that the earlier merges were applied.
//
// # Absent segments
//
// A rebuild from the log encounters segments that were merged away and deleted. An absent
// segment keeps its sequence and holds no documents; they are unheld until the merge that
// replaced the segment adds them. Since a location depends only on the set of holders,
// the rows finally equal those of a store that had every segment.
//
// # Concurrency
//
// Apply, Committed, Discarded and Publish of one partition are called by one goroutine.
// Views may be acquired and used by any goroutine. Run excises segments and deletes
// objects on the caller's goroutine; the package starts none.
//
// The package reads no text and knows no queries; it opens segments only for their
// document table.
package places
