// Package simulation is the environment of a server in a deterministic simulation: the
// scheduler, the event log, the code host and git, all in memory, with faults.
//
// It answers the question "of everything that could happen now, what happens next, and
// what fails?". A seed decides: each operation that crosses the border of the process (an
// append, a read, a commit of an offset, a git command, a delivery) waits in
// Scheduler.Await until the scheduler chooses it. Between two choices every goroutine is
// blocked (testing/synctest), so a seed always yields the same choices, which
// Scheduler.Trace shows. The clock is that of the synctest bubble: it advances when the
// scheduler lets it.
//
// Main types: Scheduler, Process (a run of the server, which a crash ends), Log
// (satisfies the contract of eventlog.Log, and the suite of eventlogtest), Host
// (repositories, and the git commands that package mirror runs).
//
// The tests that run a server in this environment are in cmd/quarry/internal/server
// (TestSimulation). docs/testing.md explains how to run them.
//
// # Invariants
//
//  1. One operation happens at a time. After Process.Kill, all operations of the process
//     fail with ErrKilled.
//  2. The function that the test passes to Scheduler.Step draws faults from the seed.
//
// # What is not simulated
//
// Git objects: a mirror has a file for each commit, and the Host knows the trees and
// blobs. Work that goroutines do between two choices without crossing the border happens
// in the order of the Go scheduler. The tests give it one processor, so that a seed
// repeats its trace in almost all runs.
package simulation
