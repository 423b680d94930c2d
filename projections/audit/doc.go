// Package audit is the projection of the audit log: who did what, and the proof that no
// part of it was changed.
//
// It answers the questions "who did what?" and "is the record complete?". The main
// types are Projection (rows and hash chain of one topic), Log (reads them: List,
// Export, Heads), Sealer (appends seals) and Verification (compares log, rows,
// chains, seals and pinned heads).
//
//	quarry.accounts ─► one entry for each event but ActivityNoted ─┐
//	quarry.audit ────► one entry for each record ──────────────────┴─► rows, lists, counters
//	          each record of both topics ─► chain:  hash = SHA-256(hash before ‖ SHA-256(record))
//	          Sealer ─► AuditSealed in quarry.audit: heads of both chains, HMAC under a key of the server
//
// # Keys
//
// All keys begin with the family 'u' and a kind. Integers are big-endian; a topic
// is one byte, 'a' for accounts and 'r' for records of quarry.audit.
//
//	u c topic                                          → chainRow, JSON
//	u h topic offset(8)                                → linkRow, 41 bytes: a record of the log
//	u r topic offset(8) index(2)                       → entryRow, JSON
//	u x list(8) time(8) topic offset(8) index(2)       → empty: an entry of a list
//	u d list(8) day(4) topic                           → count(8): entries of a list on that day
//	u m list(8) minute(4) topic                        → count(8): in that minute
//	u i topic instance                                 → number(8) of the last event of a Recorder
//
// Each entry is in four lists: the list of all entries, of its action, of its actor, and
// of both. A list is named by a hash of action and actor. Times are milliseconds since
// 1970. docs/format/audit.md describes the values, the chain and what it proves.
//
// # Invariants
//
//  1. Rows of a topic depend only on its records, the retention and, for accounts, the
//     outcome of each record in the projection of accounts (Options.Refused).
//  2. Rows of the two topics are disjoint, so two Runners may write at the same time.
//  3. Every record that can be decoded is in the chain, whatever its content; others are
//     not.
//  4. The entries of a group of records that was appended twice exist only once.
//  5. A record prunes at most MaxPruned entries; the hash of the last pruned link remains
//     as the anchor of the others.
//  6. A page reads its entries and a bounded number of counters, those of the days and
//     minutes that it skips.
//
// # Concurrency
//
// Readers use a snapshot of the store and need no lock. The Runner calls Apply.
package audit
