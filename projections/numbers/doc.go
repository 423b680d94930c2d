// Package numbers is the projection of the numbers that the API shows as IDs of
// repositories and connections.
//
// It answers the question "which number does this repository have, and which repository
// has this number?" from memory. The main type is Numbers, the projection and its
// readers. docs/adr/0018-numbers-of-repositories.md explains why there are numbers.
//
//	quarry.accounts ──► Runner ──► Numbers.Apply ──► rows, in the store of the accounts
//	                                     │ Committed
//	                                     ▼
//	                               tables in memory ◄── readers
//
// # Keys
//
// Integers are big-endian. docs/format/numbers.md describes them.
//
//	n r repository(8)   → number(4)
//	n c connection name → number(4)
//
// # Invariants
//
//  1. Rows depend only on the NumbersAssigned events of event.TopicAccounts, in their
//     order: each repository without a number gets the next one, from 1.
//  2. A number never changes, and belongs to one repository forever: no event revokes it.
//     The same applies to connections, which are numbered separately.
//  3. Numbers end at code.MaxNumber. Repositories and connections beyond it get none.
//
// # Concurrency
//
// Readers share a lock with Committed for the duration of a map access. The Runner calls
// the methods of projections.Stateful from one goroutine, because the topic has one
// partition.
//
// The package does not know which repositories are registered.
package numbers
