// Package accountrows keeps the rows of accounts, numbers and the audit log.
//
// It answers the questions "do the account rows reflect the log?" and "who did what, and is
// the audit log complete?". The rows are in a separate store, which a replay of the index does
// not touch, with one Runner for each topic:
//
//	quarry.accounts ──► accounts.Directory, audit.Projection, numbers.Numbers
//	quarry.audit    ──► audit.Projection
//
// # Main types
//
//	Rows      the store and the runners that apply the topics to it
//	Events    appends account events
//	AuditLog  lists, exports and verifies the audit log; it shows repositories by their numbers
//
// # Invariants
//
//  1. Rows that are damaged, or that another version of the program wrote, are dropped
//     and rebuilt from the log; there are few of them.
//  2. Only audit entries that were pruned are trimmed from the log, and none while the
//     log is verified (TryHold).
//  3. One verification runs at a time, since each reads the whole log.
//
// # Concurrency
//
// Everything except Open, Run and Close is safe for concurrent use; Run blocks.
//
// This package makes no decisions: query/auth does, based on these rows.
package accountrows
