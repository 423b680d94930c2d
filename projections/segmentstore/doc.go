// Package segmentstore keeps sealed segments and large manifest changes by
// name, for all processes of an installation.
//
// It answers the question "where does a worker leave what a query node takes
// in?". The main types are Store, the contract of every driver, and Directory,
// the driver for a file system. segmentstoretest holds the conformance suite.
//
// # Names
//
// A name says what the object is and is derived from its content, so that an
// object never changes and putting it twice is putting it once:
//
//	segment-<32 hex>    a sealed segment: a sorted table (docs/format/segment.md)
//	scip-<16 hex>-<32 hex>  a precise index of a repository (docs/format/scip.md)
//	manifest-<32 hex>   the changes of a manifest (EncodeChanges)
//
// A name is 1 to MaxNameBytes of a–z, 0–9, '-', '_' and '.', and begins with a
// letter: it is safe as a file name and as the key of an object.
//
// # Encoded changes
//
//	magic "QC", version 1            3 bytes
//	size of the JSON                 uvarint, at most MaxChangesBytes
//	checksum of the JSON             8 bytes, xxh3-64, little-endian
//	JSON array of event.Change       minlz block, ordered by path
//
// # Damage
//
// Check checks an object against its checksums: those of the blocks of a segment, and
// the name of a manifest, which is one. Quarantine moves what is damaged to the
// directory quarantine, which holds MaxQuarantined objects for QuarantineAge at
// most. An object that was replaced meanwhile is moved back.
//
// # Invariants
//
//  1. An object is there whole or not at all, whatever happens to the process.
//  2. Put returns when the object is durable.
//  3. An object that is there is never overwritten; a damaged one is moved away.
//  4. A decoder takes hostile bytes and returns ErrCorrupt; it allocates no more
//     than it was allowed.
//
// # Concurrency
//
// A Store is safe for concurrent use, by several processes too. Directory.Hold keeps
// objects while a backup copies them, from the deletions of this process. The package
// starts no goroutine. It does not decide what is garbage: places does.
package segmentstore
