// Package outcomes shows the outcomes of deliveries, and redelivers or replays them.
//
// It answers the question "what was the outcome of this push, and how is it retried?".
// The ledger knows what was delivered and indexed, the dead letters what was given up.
// Neither knows the other, nor the names of repositories.
//
// # Main types
//
//	Deliveries   the ledger, with the names of repositories and what was given up
//	DeadLetters  the dead letters, with the names of repositories
//	Positions    waits until searches see what events have changed
//
// # Invariants
//
//  1. A push that waits in the ledger and has a dead letter has failed, with its reason.
//  2. A page of waiting or failed pushes reads the ledger at most maxListCalls times.
//  3. The value of an account event never leaves the log: it may contain a password hash.
//
// # Concurrency
//
// All types are safe for concurrent use and start no goroutine.
//
// This package does not decide who may see which delivery: query/api does.
package outcomes
