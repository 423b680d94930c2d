// Package segmentstore stores sealed segments and large manifest changes by name, for all
// processes of an installation.
//
// It answers the question "where does a worker store the objects that a query node
// ingests?". The main types are Store, the contract of every driver, and Directory, the
// driver for a file system. segmentstoretest contains the conformance suite.
//
// # Names
//
// A name shows the kind of the object and is derived from its content, so that objects
// are immutable and Put is idempotent:
//
//	segment-<32 hex>    a sealed segment: a sorted table (docs/format/segment.md)
//	scip-<16 hex>-<32 hex>  a precise index of a repository (docs/format/scip.md)
//	manifest-<32 hex>   the changes of a manifest (EncodeChanges)
//
// A name is 1 to MaxNameBytes of a–z, 0–9, '-', '_' and '.', and begins with a letter: it
// is safe as a file name and as an object key.
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
// Check verifies the checksums of an object: those of the blocks of a segment, and the
// one in the name of a manifest. Quarantine moves damaged objects to the directory
// quarantine, which keeps at most MaxQuarantined objects for at most QuarantineAge. An
// object that was replaced in the meantime is moved back.
//
// # Invariants
//
//  1. An object is stored completely or not at all, even after a crash.
//  2. Put returns when the object is durable.
//  3. An existing object is never overwritten; a damaged one is moved away.
//  4. Decoders accept hostile bytes and return ErrCorrupt; they allocate no more memory
//     than allowed.
//
// # Concurrency
//
// A Store is safe for concurrent use, even by several processes. Directory.Hold blocks
// deletions by this process while a backup copies objects. The package starts no
// goroutines. It does not decide which objects are garbage; places does.
package segmentstore
