// Package deliveries is the projection of deliveries and their outcomes: the ledger of
// pushes.
//
// It answers the question "what has happened to this delivery?". The main types are
// Ledger (the projection), ledger.Delivery (one delivery of a connection), ledger.Push
// (one ref of it, with its outcome) and ledger.Query with ledger.Page (the list, newest
// first).
//
//	Push ──────────────► a push that waits
//	RevisionIndexed ───► indexed: every waiting push of its ref at or before its
//	                     cause; coalesced, if before it
//	PushesHandled ─────► unchanged, unselected, …: the pushes that it names
//	Delivery ──────────► a delivery without a push: duplicate, ignored, refused
//
// # Keys
//
// All keys begin with the family 'd' and a kind, then the partition. Integers are
// big-endian.
//
//	d e partition(4) offset(8)                    → entryRow, JSON: a delivery, at its first event
//	d p partition(4) offset(8)                    → pushRow, JSON: a push, at its own offset
//	d o partition(4) repository(8) ref 0 offset(8) → empty: the push waits
//	d r partition(4) repository(8) ref            → from(8) last(8): where pushes of the ref may wait
//	d k partition(4) delivery(8) body(8) [ref]    → offset(8) of the delivery's entry; with a ref:
//	                                                it has a push of that ref after its first
//	d i partition(4) deliveryID(8) offset(8)      → empty: the entry at the offset has that delivery ID
//	d n partition(4)                              → countersRow, JSON
//
// docs/format/deliveries.md describes the values.
//
// # Invariants
//
//  1. Rows depend only on records. Times are those of events and of the log. The times
//     when this process made revisions searchable are kept only in memory, for the latest
//     MaxPublished revisions; for others, the log's time is used.
//  2. Rows of different partitions are disjoint: a push, its answer and its repetitions
//     are in one partition.
//  3. A push is answered once: by the first RevisionIndexed of its repository and ref
//     whose cause is the push or a later event, or by the first PushesHandled that names
//     it. Later answers have no effect.
//  4. A delivery that arrives twice is one entry, which counts its repetitions.
//  5. A partition keeps its newest deliveries, with at most MaxPushes pushes in total; a
//     delivery without pushes counts as one, and the oldest entry is not removed while it
//     grows. The bound is a constant: if it were configurable, stores of the same log
//     would differ.
//  6. A record writes a bounded number of small rows, plus two for each waiting push that
//     it answers; each push waits only once. Removed rows are skipped once.
//
// # Concurrency
//
// Readers use a snapshot of the store and need no lock. The Runner calls the methods of
// projections.Stateful.
//
// The package does not read the dead letters: a push that was given up waits here until
// an event answers it.
package deliveries
