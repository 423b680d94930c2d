// Package store stores the projections in one Pebble instance: rows, segments and the
// corresponding position in the log.
//
// It answers the question "where are rows and segments stored, and what survives a
// crash?". The main types are Store, Batch (one record's effect), Snapshot (a consistent
// state for a reader) and Iterator. Package storetest has the file system of crash tests.
//
// # Keyspaces
//
// The first byte of a key is its family. A family belongs to one package, which documents
// the rest of the key.
//
//	'm'  meta       store         m v                    → format version
//	                store         m c partition(4)       → checkpoint of quarry.events: next offset (8)
//	                store         m t topic 0 partition(4) → checkpoint of another topic: next offset (8)
//	                store         m s projection name    → schema version (4)
//	'a'  accounts   accounts      users, credentials, access; in a separate store
//	'n'  numbers    numbers       the IDs that the API shows; in the store of the accounts
//	'u'  audit      audit         the audit log; in the store of the accounts
//	'c'  catalog    catalog       repositories, refs, skipped files
//	'd'  deliveries deliveries    deliveries and their outcomes
//	'p'  places     places        manifests, documents, places
//	'l'  local      any           facts of this directory only (pending deletions):
//	                              not a function of the log, ignored when stores are compared
//	's'  segments   segment       s segment ID(16) …     ingested, never written by a batch
//
// Integers in keys are big-endian, so that keys order as numbers do.
//
// # Invariants
//
//  1. A record's effect and the checkpoint after it are one batch: after a crash, either
//     both or neither exist.
//  2. A segment is in the store before the batch that references it commits, and is
//     excised only after the batch that dropped it is durable (Sync).
//  3. A batch never writes keys of the family 's'; only IngestSegment and ReplaceSegment
//     do.
//  4. 's' sorts after all other families, so that no table has keys on both sides of a
//     segment, and compactions of rows do not rewrite segments.
//  5. Reads of a Batch see the store as it was before the batch. A projection that needs
//     its own writes for the same record must keep them in a variable.
//
// # Durability
//
// Batch.Commit does not wait for a sync of the write-ahead log. The log of events is the
// source of truth and the checkpoint is in the batch itself, so a crash always loses a
// suffix of the batches, and that suffix is applied again. A sync per push would cost
// 0.5–2 ms of freshness without a benefit. Changes that cannot be replayed wait for Sync:
// before a segment is excised, and before an object leaves the segment store. An ingest
// is durable when it returns. If its batch is lost, an unreferenced segment remains,
// which places excises when it opens.
//
// # Concurrency
//
// A Store is safe for concurrent use. A Batch, Snapshot or Iterator is not, except that a
// Snapshot's reads are.
//
// The package does not depend on events or projections, and interprets only the rows of
// its own family.
package store
