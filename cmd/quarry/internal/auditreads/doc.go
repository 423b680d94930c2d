// Package auditreads reads and verifies the audit log.
//
// It answers the question "who did what, as the API shows it, and is this all of it?". The
// rows and the chains are those of projections/audit; a verification reads the log as well.
//
// # Invariants
//
//  1. One verification runs at a time, since each reads the whole log; the log is not
//     trimmed meanwhile.
//  2. Repositories are shown by their numbers.
//
// # Concurrency
//
// Log is safe for concurrent use and starts nothing.
//
// It records nothing: query/audit does.
package auditreads
