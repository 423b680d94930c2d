// Package snapshots writes the rows of the projections to the segment store, and builds
// projections from them.
//
// It answers the question "how does a node start without replaying the log from its first
// record?". The main types are Archive, the snapshots of an installation, Manifest, which
// describes one, and Snapshot, an entry of a list. The format is in docs/format/snapshot.md,
// the reasons are in docs/adr/0042-snapshots-of-rows.md.
//
//	Create  rows of one moment ──► list of segments ──► tables, by partition ──► segments are
//	        there? ──► manifest
//	Load    manifest ──► same log? ──► tables of the partitions: size, checksum ──► ingest
//	        ──► same positions and schemas? ──► segments ──► the log, from the positions on
//
// # Invariants
//
//  1. The manifest is written last and deleted first: a snapshot without one is never used. After
//     it, Create looks once more whether an erasure or another process with the name came between.
//  2. The list of segments is written before the tables. While it exists, Guard deletes none
//     of these segments. Other processes may do so until SettleTime has passed, so Create then
//     looks whether they are there.
//  3. Load uses a part of a snapshot completely or not at all: any size, checksum, position,
//     schema version or record of the log that differs is an error, and the store that it has
//     filled must be removed.
//  4. A snapshot never keeps text: ReleaseSegment and DeleteBefore delete the snapshots that
//     name segments with text that must go.
//  5. Every object that is read is bounded before it is read.
//
// # Concurrency
//
// An Archive is safe for concurrent use, also by several processes. In one process, one
// snapshot is created at a time.
//
// The package does not interpret rows, does not choose when snapshots are created, and does
// not switch to what it has loaded.
package snapshots
