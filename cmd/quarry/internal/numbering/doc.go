// Package numbering has repositories and connections numbered.
//
// It answers the question "which number does this repository get, and when?". The numbers
// themselves are rows of projections/numbers (ADR 18); this package appends the events.
//
// # Order
//
//	start          wait for the accounts and the catalog ──► number what has none, in the
//	               order of registration ──► the server is ready
//	registration   number ──► RepositoryRegistered
//	webhook,
//	discovery      RepositoryRegistered ──► number
//
// # Invariants
//
//  1. Numbers follow the order of registration, and are never given again.
//  2. Several processes may number the same repositories at once: the first event counts.
//  3. Beyond the last number a registration is refused, and a repository that a webhook
//     registered is not shown.
//
// # Concurrency
//
// Assigner is safe for concurrent use. New starts no goroutine; Run blocks.
//
// It shows no number: readers ask projections/numbers.
package numbering
