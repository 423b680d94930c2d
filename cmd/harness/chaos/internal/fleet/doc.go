// Package fleet runs the processes of one installation and ends them, gracefully or not.
//
// It answers the question "what runs, where, and is it still alive?". A Fleet is one
// setup: one process on the embedded log, or a receiver, two workers and a query process
// over one or three Kafka brokers, which share only a directory of segments. Two setups
// have a bucket instead, with a second query process, or with a front and shards.
//
// # Invariants
//
//  1. All data of Quarry is on a separate file system if this process may mount one
//     (tmpfs, diskBytes), so that a full disk is real: every write of every process
//     fails with ENOSPC, not only the writes that a wrapper intercepts. Brokers keep
//     their data elsewhere.
//  2. A process that ended on its own is distinguished from one that was stopped.
//  3. Close ends everything; a broker ends even if this process is killed.
//
// A Fleet is used by one goroutine, except for URL and Now.
package fleet
