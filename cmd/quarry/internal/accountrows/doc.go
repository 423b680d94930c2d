// Package accountrows keeps the rows of accounts, numbers and the audit log.
//
// It answers the question "are the accounts as the log has them?". The rows are in a store
// of their own, which a replay of the index leaves alone, with a Runner for each topic:
//
//	quarry.accounts ──► accounts.Directory, audit.Projection, numbers.Numbers
//	quarry.audit    ──► audit.Projection
//
// # Main types
//
//	Rows    the store and what applies the topics to it
//	Events  appends events of the accounts, as auth.Appender
//
// # Invariants
//
//  1. Rows that are damaged, or that another version of the program wrote, are dropped
//     and read from the log again: they are few.
//  2. The log is trimmed only of audit entries that were pruned, and never while they are
//     verified (TryHold).
//
// # Concurrency
//
// Everything but Open, Run and Close is safe for concurrent use; Run blocks.
//
// It decides nothing: query/auth does, by what it reads here.
package accountrows
