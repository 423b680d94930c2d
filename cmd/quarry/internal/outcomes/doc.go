// Package outcomes shows what became of deliveries, and has them tried again.
//
// It answers the question "what became of this push, and how is it tried again?". The
// ledger knows what was delivered and indexed, the dead letters what was given up; neither
// knows the other, nor the names of repositories.
//
// # Main types
//
//	Deliveries   the ledger as api.Deliveries
//	DeadLetters  what was given up as api.DeadLetters
//
// # Invariants
//
//  1. A push that waits in the ledger and has a dead letter has failed, with its reason.
//  2. A page of pushes that wait, or that failed, reads the ledger at most maxListCalls times.
//  3. The value of an account event never leaves the log: it may hold a password hash.
//
// # Concurrency
//
// Deliveries and DeadLetters are safe for concurrent use and start nothing.
//
// It does not decide who may see which delivery: query/api does.
package outcomes
