// Package rounds breaks a fleet repeatedly, and checks each time whether anything was
// lost.
//
// It answers the question "what is left of an acknowledged push, whatever dies?".
//
// # A round
//
// Pushes to several repositories continue while one fault happens and is repaired
// (faults.go). Then the pushes stop, unacknowledged deliveries are redelivered, as hosts
// do, and the invariant is awaited (invariant.go):
//
//  1. Of every branch exactly the files of the model are found, by their tokens,
//     each once; a token of any earlier version is found nowhere.
//  2. Every process is alive, and none holds more goroutines, files or segments than
//     its bound.
//  3. Every VerifyEvery rounds, after some faults, and at the end: the projections
//     equal a rebuild from the log (quarry replay --verify), every push in the log
//     has an outcome, and there are dead letters of the injected records and of no
//     others.
//
// The faults of a run follow from its seed. The timing of processes does not: a seed
// repeats a failure in most cases, not in all.
//
// # What is counted
//
// A recovery is the time from the repair — the processes were restarted, the disk has
// space — until the invariant holds.
package rounds
