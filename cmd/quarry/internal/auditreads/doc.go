// Package auditreads reads and verifies the audit log.
//
// It answers the question "who did what, as the API shows it, and is the log complete?".
// The rows and the hash chains come from projections/audit; a verification also reads the
// log.
//
// # Invariants
//
//  1. One verification runs at a time, since each reads the whole log; the log is not
//     trimmed in the meantime.
//  2. Repositories are shown by their numbers.
//
// # Concurrency
//
// Log is safe for concurrent use and starts no goroutine.
//
// This package records nothing: query/audit does.
package auditreads
