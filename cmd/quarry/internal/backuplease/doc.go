// Package backuplease keeps files in place while another process copies them.
//
// It answers the question "which files must stay, and until when?": a checkpoint of the
// embedded log, and every object of the segment store. It implements api.Backups;
// cmd/quarry/internal/backup copies and restores.
//
// # Invariants
//
//  1. One backup is active at a time. It ends when its client ends it or does not renew
//     it for a minute, and in any case after a day.
//  2. Objects are held before the checkpoint is created, so that every object that the
//     checkpoint names exists until the end.
//  3. The checkpoints of a process that died are removed at the next start.
//
// # Concurrency
//
// Leases is safe for concurrent use. New starts no goroutine. Run blocks; when it
// returns, it ends an active backup.
//
// This package copies nothing.
package backuplease
