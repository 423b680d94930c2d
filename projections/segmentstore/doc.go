// Package segmentstore stores sealed segments and large manifest changes by name, for all
// processes of an installation.
//
// It answers the question "where does a worker store the objects that a query node
// ingests?". The main types are Driver, the contract of every driver, Directory, the driver
// for a file system, and Bucket, the driver for S3-compatible object storage (ADR 40).
// Store is the part that readers and writers of objects use. segmentstoretest contains the
// conformance suite, and s3test starts a server for tests.
//
// # Names
//
// A name shows the kind of the object and is derived from its content, so that objects
// are immutable and Put is idempotent:
//
//	segment-<32 hex>    a sealed segment: a sorted table (docs/format/segment.md)
//	scip-<16 hex>-<32 hex>  a precise index of a repository (docs/format/scip.md)
//	manifest-<32 hex>   the changes of a manifest (EncodeChanges)
//	merge-<8 hex>-<16 hex>  the mark of a merge that was applied (MergeName)
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
// one in the name of a manifest. Quarantine moves damaged objects to the directory or
// folder quarantine, which keeps at most MaxQuarantined objects for at most QuarantineAge.
// A file that was replaced in the meantime is moved back.
//
// # Objects in a bucket
//
// The key of an object is the folder and the name. Its metadata quarry-xxh3 is the
// xxh3-128 of its bytes, which every download verifies; an object that another program has
// copied there has none, and is not verified. Objects of up to 64 MiB are written with
// If-None-Match, larger ones in parts. A request is tried 4 times, waits a minute for its
// answer, and transfers at least 256 KiB a second; a process has at most 64 connections.
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
// A Store is safe for concurrent use, even by several processes. Driver.Hold blocks
// deletions by this process while a backup copies objects. The package starts no
// goroutines. It does not decide which objects are garbage; places does.
package segmentstore
