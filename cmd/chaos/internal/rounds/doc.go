// Package rounds breaks a fleet again and again, and looks each time whether
// anything was lost.
//
// It answers the question "what is left of an acknowledged push, whatever dies?".
//
// # A round
//
// Pushes go on over several repositories; meanwhile one fault happens and is
// repaired (faults.go). Then the pushes stop, what was not acknowledged is
// delivered again, as hosts do, and the invariant is awaited (invariant.go):
//
//  1. Of every branch exactly the files of the model are found, by their tokens,
//     each once; a token of any former version is found nowhere.
//  2. Every process lives, and none holds more goroutines, files or segments than
//     its bound.
//  3. Every VerifyEvery rounds, after some faults, and at the end: the projections
//     equal a rebuild from the log (quarry replay --verify), every push in the log
//     was answered, and there are dead letters of what was injected and of nothing
//     else.
//
// The faults of a run follow from its seed. The times of processes do not: a
// failure is repeated by its seed in most cases, not in all.
//
// # What is counted
//
// A recovery is the time from the repair — the processes were started again, the
// disk has space — until the invariant holds.
package rounds
