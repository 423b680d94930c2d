// Package simulation is the world around a server in a deterministic simulation: the
// scheduler, the event log, the code host and git, all in memory, with faults.
//
// It answers the question "in which order does everything happen that could happen
// now, and what goes wrong?". A seed answers it: each operation that crosses the border
// of the process (an append, a read, a commit of an offset, a git command, a delivery)
// waits in Scheduler.Await until the scheduler chooses it. Between two choices every
// goroutine is blocked (testing/synctest), so a seed yields the same choices,
// which Scheduler.Trace shows. The clock is that of the bubble: it moves when the
// scheduler lets it.
//
// Main types: Scheduler, Process (a life of the server, which a crash ends), Log (keeps
// the contract of eventlog.Log, and the suite of eventlogtest), Host (repositories, and
// the git commands that package mirror runs).
//
// The tests that put a server into this world are in cmd/quarry/internal/server
// (TestSimulation). docs/testing.md says how to run them.
//
// # Invariants
//
//  1. One operation happens at a time. After Process.Kill none of the process happens:
//     each fails with ErrKilled.
//  2. Faults are drawn from the seed, by the function that the test gives to
//     Scheduler.Step.
//
// # What is not simulated
//
// Git objects: a mirror has a file for each commit, and the Host knows the trees and
// blobs.
// What goroutines do between two choices, without crossing the border, happens in the
// order of the Go scheduler. The tests give it one processor, so that a seed repeats its
// trace in all but few runs.
package simulation
