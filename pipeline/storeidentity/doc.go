// Package storeidentity checks that the segment store belongs to the log.
//
// It answers the question "is this the segment store that the log refers to?". Processes
// of several roles share the store, usually over a network file system. A process that
// sees an unmounted or another directory would take every segment for lost.
//
// # Records
//
//	object "identity" of the store     a random ID, written once
//	store.identified in the accounts   the ID that the log expects (ADR 38)
//
// # Invariants
//
//  1. The object is written before the record. A process that finds an object without a
//     record, after a crash in between, records it.
//  2. Only a process that writes segments identifies a store. Of several that do so
//     concurrently, the first record counts.
//  3. A recorded identity is replaced only if the operator names it.
//
// # Concurrency
//
// Keeper.Run blocks until its context ends. CheckReady is safe for concurrent use.
//
// This package restores no object.
package storeidentity
