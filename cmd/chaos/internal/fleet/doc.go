// Package fleet runs the processes of one installation and ends them, nicely or
// not.
//
// It answers the question "what runs, where, and is it still alive?". A Fleet is
// one set-up: one process on the embedded log, or a receiver, two workers and a
// query process over one Kafka broker or three, which share a directory of
// segments and nothing else.
//
// # Invariants
//
//  1. All data of Quarry are on a separate file system if this process may mount one
//     (tmpfs, maxDiskBytes), so that a full disk is a real one: every write of every
//     process fails with ENOSPC, not only those of files that some wrapper knows.
//     Brokers keep theirs elsewhere.
//  2. A process that ended by itself is distinguished from one that was stopped.
//  3. Close ends everything; a broker ends even if this process is killed.
//
// A Fleet is used by one goroutine, except for URL and Now.
package fleet
