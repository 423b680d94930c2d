// Package numbering assigns numbers to repositories and connections.
//
// It answers the question "which number does this repository get, and when?". The numbers
// themselves are rows of projections/numbers (ADR 18); this package appends the events.
//
// # Order
//
//	start          wait for the accounts and the catalog ──► number everything without a
//	               number, in the order of registration ──► the server is ready
//	registration   number ──► RepositoryRegistered
//	webhook,
//	discovery      RepositoryRegistered ──► number
//
// # Invariants
//
//  1. Numbers follow the order of registration, and are never reused.
//  2. Several processes may number the same repositories concurrently: the first event
//     counts.
//  3. Beyond the last number a registration is refused, and a repository that a webhook
//     registered is not shown.
//
// # Concurrency
//
// Assigner is safe for concurrent use. New starts no goroutine; Run blocks.
//
// This package shows no number: readers ask projections/numbers.
package numbering
