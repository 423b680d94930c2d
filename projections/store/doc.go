// Package store keeps the projections in one Pebble instance: rows, segments and
// the position in the log that they correspond to.
//
// It answers the question "where do rows and segments live, and what is still
// there after a crash?". The main types are Store, Batch (one record's effect),
// Snapshot (what a reader sees) and Iterator; Memory is the file system of
// crash tests.
//
// # Keyspaces
//
// The first byte of a key is its family. A family belongs to one package, which
// documents what follows.
//
//	'm'  meta       store         m v                    → format version
//	                store         m c partition(4)       → checkpoint of quarry.events: next offset (8)
//	                store         m t topic 0 partition(4) → checkpoint of another topic: next offset (8)
//	                store         m s projection name    → schema version (4)
//	'a'  accounts   accounts      users, credentials, access; in a separate store
//	'n'  numbers    numbers       what the API shows as IDs; in the store of the accounts
//	'u'  audit      audit         the audit log; in the store of the accounts
//	'c'  catalog    catalog       repositories, refs, skipped files
//	'd'  deliveries deliveries    what was delivered, and what became of it
//	'p'  places     places        manifests, documents, places
//	'l'  local      any           facts of this directory only (pending deletions):
//	                              no function of the log, left out when stores are compared
//	's'  segments   segment       s segment ID(16) …     ingested, never written by a batch
//
// Integers in keys are big-endian, so that keys order as numbers do.
//
// # Invariants
//
//  1. A record's effect and the checkpoint after it are one batch: both are there
//     after a crash, or neither is.
//  2. A segment is in the store before the batch that names it commits, and is
//     excised only after the batch that dropped it is durable (Sync).
//  3. A batch never writes under 's'; nothing but IngestSegment does.
//  4. 's' is after all other families, so that no table holds keys on both sides of a
//     segment, and no compaction of rows writes segments.
//  5. Reads of a Batch see the store as it was before the batch. A projection
//     that needs what it wrote for the same record keeps it in a variable.
//
// # Durability
//
// Batch.Commit does not wait for a sync of the write-ahead log. The log of events
// is the source of truth and the checkpoint is in the batch itself, so a crash
// always loses a suffix of the batches, and that suffix is applied again. A sync
// per push would cost 0.5–2 ms of freshness without a benefit. Changes that cannot
// be replayed wait for Sync: before a segment is excised, and before an object
// leaves the segment store. An ingest is durable when it returns; one whose batch
// was lost leaves a segment that nothing names, which places excises when it opens.
//
// # Concurrency
//
// A Store is safe for concurrent use. A Batch, Snapshot or Iterator is used by
// one goroutine at a time; a Snapshot's reads are safe from several.
//
// The package knows no event and no projection, and interprets no row but its
// own family.
package store
