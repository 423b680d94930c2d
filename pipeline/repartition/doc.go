// Package repartition writes the state of an installation as a log with another number of
// partitions.
//
// It answers the question "which few records lead to the state that many have led to?". The
// partition of a repository is a hash of its ID and the number of partitions, and documents
// belong to a partition. So another number moves repositories and divides segments. Their
// text is copied from segments to segments; git is not read, and nothing is analyzed again.
//
// # Main types and functions
//
//	Source  the projections of a data directory that has applied the whole log: Open, Close
//	Write   writes the records, and the segments that they name
//	Build   applies the records to new projections, and compares them with the Source
//
// ForgetOldLog deletes the snapshots and marks of the old log in the segment store.
//
// # Records of a repository
//
//	RepositoryRegistered  its description
//	RepositoryChanged     only if it has changed since its registration
//	RevisionIndexed       of the default branch, with all files and all new segments
//	RevisionIndexed       of each other ref, relative to the first one
//	SubmodulesListed, PinsChanged, ScipUploaded
//
// The cause of a RevisionIndexed is the registration, as in a first import. The records end
// with the pushes that workers have not handled yet; the group of the workers begins at them.
//
// # Invariants
//
//  1. Equal sources give equal records and segments. So a copy of the log that was
//     interrupted is resumed by another one.
//  2. A document is written once for each new partition with a repository that names it. The
//     repository that is written first brings it, and public ones are before private ones.
//  3. Documents that no manifest names are not copied: text of removed repositories, of
//     erasures and of the past stays in the old segments.
//  4. Nothing that the Source reads is changed. The old segments are deleted by the server
//     that opens the new projections.
//
// # Memory
//
// It holds one builder, the files of two refs, and the keys of the documents of one new
// partition.
//
// # Concurrency
//
// All functions are sequential. The caller must hold the lock of the data directory.
//
// It does not copy accounts and the audit log: their topics have one partition, and
// package logcopy copies them.
package repartition
