// Package backuplease keeps files in place while another process copies them.
//
// It answers the question "which files must stay, and until when?": a checkpoint of the
// embedded log, and every object of the segment store. It implements api.Backups;
// cmd/quarry/internal/backup copies and restores.
//
// # Invariants
//
//  1. One backup is active at a time. It ends when its client ends it or does not renew
//     it for a minute, and after a day in any case.
//  2. Objects are held before the checkpoint is made: what it names is there until the end.
//  3. Checkpoints of a process that died are removed at the next start.
//
// # Concurrency
//
// Leases is safe for concurrent use. New starts no goroutine; Run blocks, and ends an
// active backup.
//
// It copies nothing.
package backuplease
